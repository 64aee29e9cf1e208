"""`evalsite datasets`: built of what players did, listed, looked at, downloaded, deleted."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from evalsite_client.api.datasets import Dataset
from evalsite_client.cli.options import (
    SHOWN,
    UNITS,
    add_command,
    add_limit,
    page_size,
    read_seconds,
    read_whole,
    take_rows,
)
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.client import Client
from evalsite_client.errors import InputError

HEAD: Final = ("name", "game", "source", "state", "episodes", "steps", "bytes", "created")
MEGABYTE: Final = 1_000_000
EXPORTER: Final = "evalsite_client.minari_export"
INSTALL: Final = "pip install 'CLONE[minari]'"
EXAMPLE: Final = "evalsite datasets minari data/good cart_pole/good-v0 --out data/minari"
FAILED: Final = 1


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `datasets`, which lists them unless a further word says more."""
    listed = add_command(
        commands,
        "datasets",
        show_datasets,
        examples="  evalsite datasets build good --game cart_pole --min-return 400 --since 7d "
        "--wait\n  evalsite datasets build best --game connect_four --source trajectories "
        "--leaderboard connect-four --top 3 --opponent random --since 7d\n"
        "  evalsite datasets download good data/good",
    )
    _add_filters(listed)
    actions = listed.add_subparsers(metavar="ACTION")
    # Without defaults of their own: what stands before the verb must not be lost.
    _add_filters(add_command(actions, "list", show_datasets), default=SUPPRESS, limit=SUPPRESS)
    _add_build(add_command(actions, "build", build_dataset))
    for name, run in (("show", show_dataset), ("delete", delete_dataset)):
        add_command(actions, name, run).add_argument("name")
    fetched = add_command(actions, "download", download_dataset)
    fetched.add_argument("name")
    fetched.add_argument("folder", type=Path)
    exported = add_command(
        actions, "minari", export_to_minari, examples=f"  {INSTALL}\n  {EXAMPLE}"
    )
    exported.add_argument("folder", type=Path, help="of a dataset that was downloaded")
    exported.add_argument("id", metavar="ID", help="of Minari's dataset, such as cart_pole/good-v0")
    exported.add_argument(
        "--out", type=Path, metavar="ROOT", help="else where Minari keeps its own"
    )


def _add_filters(parser: ArgumentParser, *, default: Any = None, limit: Any = SHOWN) -> None:
    parser.add_argument("--game", default=default)
    add_limit(parser, default=limit)


def _add_build(built: ArgumentParser) -> None:
    built.add_argument("name")
    # Not required: it may stand before the verb.
    built.add_argument("--game", default=SUPPRESS)
    for name, text in (("since", "written to a file from then on"), ("until", "and before then")):
        built.add_argument(
            f"--{name}", type=read_time, metavar="TIME", help=f"{text}: 2026-05-04, or 7d ago"
        )
    built.add_argument(
        "--user", dest="users", action="append", default=[], help="who uploaded; several times"
    )
    for name in ("min-version", "max-version"):
        built.add_argument(f"--{name}", type=int, metavar="N", help="of the policy; -1: none")
    for name in ("min-return", "max-return"):
        built.add_argument(f"--{name}", type=float, metavar="R", help="of an episode")
    built.add_argument(
        "--source", choices=("experience", "trajectories"), default="experience",
        help="uploads, or decisions in matches that kept trajectories",
    )  # fmt: skip
    for name, text in (
        ("agent", "whose decisions"), ("opponent", "against whom"),
    ):  # fmt: skip
        built.add_argument(
            f"--{name}", dest=f"{name}s", action="append", default=[], help=f"{text}; several times"
        )
    built.add_argument("--leaderboard", default="", help="matches of this board only")
    built.add_argument("--top", type=read_whole(1), metavar="N", help="those of its best agents")
    built.add_argument(
        "--tournament", dest="tournaments", type=read_whole(1), action="append", default=[]
    )
    built.add_argument(
        "--result", dest="results", choices=("win", "draw", "loss"), action="append", default=[]
    )
    built.add_argument("--most-steps", type=read_whole(1), default=5_000_000, metavar="N")
    built.add_argument("--shard-steps", type=read_whole(1), default=50_000, metavar="N")
    built.add_argument("--wait", action="store_true", help="until it is ready")
    built.add_argument("--timeout", type=read_seconds, metavar="S", help="of the wait")


def read_time(text: str) -> datetime:
    """Take a date, a time of ISO 8601 (UTC unless it says more), or so long ago as `7d` says."""
    if text[-1:] in UNITS and text[:-1].isdecimal():
        try:
            ago = timedelta(seconds=int(text[:-1]) * UNITS[text[-1]])
            return datetime.now(UTC).replace(microsecond=0) - ago
        except OverflowError as error:
            raise ArgumentTypeError(f"{text:.40}: is before the year 1") from error
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no date, no time and no duration as 7d") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def show_datasets(client: Client, options: Namespace) -> Answer:
    """List the datasets, the newest first."""
    listed = client.datasets.list(game=options.game, page_size=page_size(options))
    rows = take_rows(listed, options)
    table = [
        (
            dataset.name,
            dataset.game,
            dataset.source,
            dataset.state,
            dataset.n_episodes,
            dataset.n_steps,
            dataset.n_bytes,
            dataset.created_at,
        )
        for dataset in rows
    ]
    return Answer(rows, format_table(HEAD, table))


def build_dataset(client: Client, options: Namespace) -> Answer:
    """Begin a dataset of the episodes that a query chooses."""
    if not options.game:
        raise InputError("--game", "is missing: of which game are the episodes?")
    names = (
        *("name", "game", "since", "until", "users", "min_version", "max_version"),
        *("min_return", "max_return", "source", "leaderboard", "tournaments", "agents", "top"),
        *("opponents", "results", "most_steps", "shard_steps"),
    )
    dataset = client.datasets.build(**{name: getattr(options, name) for name in names})
    if options.wait:
        dataset = client.datasets.wait(dataset.name, timeout_s=options.timeout)
    return _describe_dataset(dataset)


def show_dataset(client: Client, options: Namespace) -> Answer:
    """Show how far a dataset is, and what it was asked for."""
    return _describe_dataset(client.datasets.get(options.name))


def download_dataset(client: Client, options: Namespace) -> Answer:
    """Fetch the shards of a dataset that are not in the folder yet, with manifest.json."""
    paths = client.datasets.download(options.name, options.folder)
    n_bytes = sum(path.stat().st_size for path in paths)
    text = f"{len(paths)} shards, {n_bytes / MEGABYTE:,.1f} MB in {options.folder}"
    return Answer({"files": [str(path) for path in paths]}, text)


def export_to_minari(client: Client, options: Namespace) -> Answer:
    """Write a downloaded dataset as one of Minari's."""
    del client
    if find_spec("minari") is None:
        raise InputError("minari", f"is not installed here: {INSTALL}")
    root = options.out or Path.home() / ".minari" / "datasets"
    # By its name: every other command has to run without Minari.
    n_episodes = import_module(EXPORTER).export_folder(options.folder, options.id, root)
    text = f"{n_episodes} episodes in {root / options.id}; minari.load_dataset({options.id!r})"
    return Answer({"id": options.id, "episodes": n_episodes, "root": str(root)}, text)


def delete_dataset(client: Client, options: Namespace) -> Answer:
    """Delete a dataset with its files."""
    client.datasets.delete(options.name)
    return Answer({"deleted": options.name}, f"dataset {options.name} is deleted")


def _describe_dataset(dataset: Dataset) -> Answer:
    conditions = {name: value for name, value in dataset.query.items() if value not in (None, [])}
    values: dict[str, Any] = {
        "dataset": dataset.name,
        "state": dataset.state,
        "problem": dataset.problem,
        "episodes": dataset.n_episodes,
        "steps": dataset.n_steps,
        "left out": dataset.n_steps_unfinished,
        "bytes": dataset.n_bytes,
        **{name: _join_values(value) for name, value in conditions.items()},
    }
    is_failed = dataset.state == "failed"
    return Answer(dataset, format_pairs(values), status=FAILED if is_failed else 0)


def _join_values(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
