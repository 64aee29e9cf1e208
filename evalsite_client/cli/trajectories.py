"""`evalsite download`: what a tournament has kept of its matches."""

import json
from argparse import ArgumentParser, Namespace, _SubParsersAction
from dataclasses import asdict
from pathlib import Path
from typing import Final

from evalsite_client.api.tournaments import TournamentDetail
from evalsite_client.cli.options import add_command, read_whole
from evalsite_client.cli.saving import save_json
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client
from evalsite_client.errors import InputError

MEGABYTE = 1_000_000
MANIFEST: Final = "manifest.json"


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    fetched = add_command(
        commands, "download", download_trajectories, examples="  evalsite download 7 trajectories/7"
    )
    fetched.add_argument("tournament", type=read_whole(1), metavar="ID")
    fetched.add_argument("folder", type=Path)


def download_trajectories(client: Client, options: Namespace) -> Answer:
    """Fetch the trajectories of a tournament that are not in the folder yet, with manifest.json."""
    manifest = client.trajectories.manifest(options.tournament)
    tournament = client.tournaments.get(options.tournament)
    path = options.folder / MANIFEST
    _check_folder(path, tournament)
    options.folder.mkdir(parents=True, exist_ok=True)
    # First: it says of which tournament the pieces are, however many come.
    save_json(path, {**asdict(manifest), "created_at": tournament.created_at})
    paths = client.trajectories.download_all(options.tournament, options.folder)
    more = "" if manifest.is_complete else "; more may come"
    text = f"{len(paths)} pieces, {manifest.n_bytes / MEGABYTE:,.1f} MB in {options.folder}{more}"
    return Answer({"manifest": manifest, "files": [str(path) for path in paths]}, text)


def _check_folder(manifest: Path, tournament: TournamentDetail) -> None:
    """Refuse a folder of anything else, whose files would be mixed with these."""
    if not manifest.exists():
        return
    try:
        before = dict(json.loads(manifest.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError("folder", f"{manifest} is no manifest of ours: {error}") from error
    # When it was made tells it from that of another server, or of a database that was restored,
    # with the same number. Manifests of before do not have it.
    made_at = tournament.created_at.isoformat()
    identity = (before.get("tournament"), before.get("created_at", made_at))
    if identity != (tournament.id, made_at):
        reason = f"{str(manifest.parent)!r} holds something else than tournament {tournament.id}"
        raise InputError("folder", f"{reason} of {made_at}: choose a new folder")
