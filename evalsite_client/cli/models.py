"""Commands of models: what training runs have published: list, show, download."""

from argparse import SUPPRESS, ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path
from typing import Final

from evalsite_client.api.models import PublishedModel, Version
from evalsite_client.cli.options import (
    SHOWN,
    add_command,
    add_limit,
    page_size,
    read_whole,
    take_rows,
)
from evalsite_client.cli.saving import save_bytes
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.client import Client
from evalsite_client.errors import InputError

HEAD: Final = (
    *("run", "game", "algorithm", "state", "steps", "versions", "latest", "released", "loaded"),
)
VERSIONS_HEAD: Final = (
    *("version", "state", "steps", "agent", "bytes", "loaded", "published", "reason"),
)


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `models`, which lists them unless a further word says more."""
    listed = add_command(
        commands,
        "models",
        show_models,
        examples="  evalsite models list --game cart_pole\n"
        "  evalsite models show poles\n"
        "  evalsite models download poles --released --out poles.safetensors\n"
        "  evalsite models download poles --best",
    )
    _add_filters(listed)
    actions = listed.add_subparsers(metavar="ACTION")
    # Without defaults of their own: what stands before the verb must not be lost.
    _add_filters(add_command(actions, "list", show_models), default=SUPPRESS, limit=SUPPRESS)
    shown = add_command(actions, "show", show_model)
    shown.add_argument("name", metavar="RUN")
    add_limit(shown)
    fetched = add_command(actions, "download", download_model)
    fetched.add_argument("name", metavar="RUN")
    which = fetched.add_mutually_exclusive_group()
    which.add_argument(
        "--released", action="store_true", help="the latest that was judged and released"
    )
    which.add_argument(
        "--best",
        action="store_true",
        help="that of the highest rating on the leaderboard that judged it",
    )
    which.add_argument(
        "--version", type=read_whole(), metavar="N", help="this one; else the newest"
    )
    fetched.add_argument(
        "--out", type=Path, metavar="FILE", help="RUN-VERSION.safetensors without it"
    )
    fetched.add_argument("--force", action="store_true", help="in the place of a file of that name")


def _add_filters(
    parser: ArgumentParser, *, default: str | None = None, limit: int | str = SHOWN
) -> None:
    parser.add_argument("--game", default=default)
    add_limit(parser, limit)


def show_models(client: Client, options: Namespace) -> Answer:
    """List runs that have published a version, the newest first."""
    models = client.models.list(game=options.game, page_size=page_size(options))
    shown_models = take_rows(models, options)
    return Answer(shown_models, format_table(HEAD, [_make_row(model) for model in shown_models]))


def show_model(client: Client, options: Namespace) -> Answer:
    """Show a model with its newest versions."""
    model = client.models.get(options.name)
    versions = take_rows(client.models.versions(model.run, page_size=page_size(options)), options)
    summary = format_pairs(dict(zip(HEAD, _make_row(model), strict=True)))
    table = format_table(VERSIONS_HEAD, [_make_version_row(version) for version in versions])
    return Answer({"model": model, "versions": versions}, f"{summary}\n\n{table}")


def download_model(client: Client, options: Namespace) -> Answer:
    """Load the weights of a version: a whole file of its size and SHA-256, or none."""
    version = _find_version(client, options)
    path: Path = options.out or Path(f"{version.run}-{version.version}.safetensors")
    # Before it is loaded; save_bytes sees to one that comes meanwhile.
    if path.is_dir():
        raise InputError("out", f"{path} is a folder: name a file in it")
    if path.exists() and not options.force:
        raise InputError(
            "out", f"{path} is there already: --force replaces it, --out names another"
        )
    if not path.parent.is_dir():
        raise InputError("out", f"there is no folder {path.parent}: make it first")
    content = client.models.fetch_weights(version)
    try:
        save_bytes(path, content, replaces=options.force)
    except FileExistsError as error:
        raise InputError("out", f"{path} has come meanwhile: --force replaces it") from error
    summary = (
        f"version {version.version} of {version.run} ({version.state}), {version.size:,} bytes"
    )
    return Answer(
        {"version": version, "file": str(path)}, f"{path}: {summary}, SHA-256 as it should be"
    )


def _find_version(client: Client, options: Namespace) -> Version:
    if options.best:
        return client.models.best(options.name)
    if options.version is None:
        return client.models.latest(options.name, released=options.released or None)
    for version in client.models.versions(options.name):
        if version.version == options.version:
            return version
        if version.version < options.version:  # the newest come first
            break
    problem = f"run {options.name} has no version {options.version}"
    raise InputError("version", f"{problem}: `evalsite models show {options.name}` lists them")


def _make_row(model: PublishedModel) -> list[object]:
    cells = (model.run, model.game, model.algorithm, model.state, model.n_steps, model.n_versions)
    return [*cells, model.latest_version, model.released_version, model.n_downloads]


def _make_version_row(version: Version) -> list[object]:
    cells = (
        version.version,
        version.state,
        version.n_steps,
        version.agent,
        version.size,
        version.n_downloads,
    )
    return [*cells, version.created_at, version.reason]
