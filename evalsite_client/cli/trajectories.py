"""`evalsite download`: what a tournament has kept of its matches."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from evalsite_client.cli.options import add_command, read_whole
from evalsite_client.cli.show import Answer, as_json
from evalsite_client.client import Client

MEGABYTE = 1_000_000


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
    paths = client.trajectories.download_all(options.tournament, options.folder)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "manifest.json").write_text(f"{as_json(manifest)}\n")
    more = "" if manifest.is_complete else "; more may come"
    text = f"{len(paths)} pieces, {manifest.n_bytes / MEGABYTE:,.1f} MB in {options.folder}{more}"
    return Answer({"manifest": manifest, "files": [str(path) for path in paths]}, text)
