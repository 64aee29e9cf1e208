"""Commands of checkpoints: upload, add, list, show."""

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from pathlib import Path

from evalsite_client.api.checkpoints import Checkpoint
from evalsite_client.cli.folders import find_run, read_game
from evalsite_client.cli.options import (
    SHOWN,
    add_command,
    add_limit,
    page_size,
    read_pair,
    read_path,
    read_seconds,
    read_whole,
    take_rows,
)
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import ClientError, InputError
from evalsite_client.uploads import compute_sha256

REFUSED = 2
SHORTEST = 6
"""A hash may be given by its beginning, of so many digits at least."""
ADDED_HEAD = ("agent", "step", "hash", "state", "placement", "row ms")
HEAD = ("sha256", "game", "architecture", "state", "agents", "bytes", "created")
MEGABYTE = 1_000_000


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    new = add_command(
        commands,
        "upload",
        upload_checkpoint,
        examples="  evalsite upload step-2000.safetensors --name run --step 2000 "
        "--game connect_four --architecture mlp -p hidden=64 --wait\n"
        "  evalsite upload sealed.safetensors --name run",
    )
    new.add_argument("file", type=Path)
    new.add_argument("--name", required=True, help="of the agent, without the step")
    new.add_argument("--game", default="", help="not needed for a sealed file")
    new.add_argument("--architecture", default="", help="not needed for a sealed file")
    new.add_argument(
        *("-p", "--parameter"),
        type=read_pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the architecture",
    )
    new.add_argument(
        "--step", type=read_whole(), help="of the training run; the agent is NAME@STEP"
    )
    new.add_argument("--parent", default="", help="a hash, or an agent's name")
    new.add_argument("--placement", choices=("local", "gpu"), default="", help="else as measured")
    new.add_argument("--wait", action="store_true", help="until it is checked")
    new.add_argument("--timeout", type=read_seconds, metavar="S", help="of the wait")
    _add_checkpoints(commands)


def _add_checkpoints(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `checkpoints`, which lists them unless a further word says more."""
    listed = add_command(
        commands,
        "checkpoints",
        show_checkpoints,
        examples="  evalsite checkpoints convert runs/ppo --from cleanrl --architecture mlp "
        "--game connect_four --out runs/ppo-sealed\n"
        "  evalsite checkpoints add runs/ppo-sealed --agent ppo --game connect_four\n"
        "  evalsite checkpoints list --agent ppo",
    )
    _add_filters(listed)
    actions = listed.add_subparsers(metavar="ACTION")
    # Without defaults of their own: what stands before the verb must not be lost.
    _add_filters(add_command(actions, "list", show_checkpoints), default=SUPPRESS, limit=SUPPRESS)
    shown = add_command(actions, "show", show_checkpoint)
    shown.add_argument("hash", help="or its beginning, or an agent's name with --game")
    shown.add_argument("--game", default=SUPPRESS)
    # Comes here only after other options, and takes whatever follows: see main.
    files = actions.add_parser(
        "convert",
        help="make safetensors of .pt files; needs torch: convert --help",
        add_help=False,
        prefix_chars="\0",
    )
    files.add_argument("files", nargs="*")
    files.set_defaults(run=refuse_to_convert)
    added = add_command(actions, "add", add_files)
    added.add_argument(
        "path", type=read_path, metavar="FILE|FOLDER", help="all *.safetensors in it"
    )
    added.add_argument("--agent", required=True, metavar="NAME", help="with a step NAME@STEP")
    added.add_argument("--game", default=SUPPRESS, help="needed unless the file is sealed")
    added.add_argument("--architecture", default="", help="needed unless the file is sealed")
    added.add_argument(
        "--parameter", type=read_pair, action="append", default=[], metavar="NAME=VALUE"
    )
    added.add_argument(
        "--step", type=read_whole(), help="of a file; a folder's files are named by it"
    )
    added.add_argument("--parent", default="", metavar="HASH|AGENT", help="what it came from")
    added.add_argument("--placement", choices=("local", "gpu"), default="", help="as measured")
    added.add_argument("--sha256", default="", help="of the file, to be compared")
    added.add_argument("--no-wait", action="store_true", help="do not wait for the checks")


def _add_filters(
    parser: ArgumentParser, *, default: str | None = None, limit: int | str = SHOWN
) -> None:
    flag = parser.add_argument
    flag("--game", default=default)
    flag("--run", "--agent", dest="training_run", metavar="RUN", default=default)
    flag("--state", choices=("checking", "ready", "refused"), default=default)
    add_limit(parser, limit)


def refuse_to_convert(_client: Client, _options: Namespace) -> Answer:
    """Say that a server has no part in it."""
    advice = "works on files of this machine: nothing may stand before `checkpoints convert`"
    raise InputError("convert", advice)


def add_files(client: Client, options: Namespace) -> Answer:
    """Add a safetensors file, or those of a folder as a run, each the child of the one before."""
    hashes = _send_files(client, options)
    status, complaint = 0, ""
    try:
        rows = [wait_checked(client, sha, is_waiting=not options.no_wait) for sha in hashes]
    except KeyboardInterrupt:
        rows = _read_states(client, hashes)
        complaint = "not waited for: the checks go on, `evalsite checkpoints` shows them"
        status = INTERRUPTED
    refused = [row for row in rows if row.reason]
    if refused and not status:
        status, complaint = REFUSED, "\n".join(_describe_refused(refused))
    return Answer(
        rows, format_table(ADDED_HEAD, [_make_added_row(row) for row in rows]), status, complaint
    )


def _describe_refused(refused: Sequence[Checkpoint]) -> list[str]:
    """Return each reason once, with the first file and how many more have it."""
    names: dict[str, list[str]] = {}
    for row in refused:
        names.setdefault(row.reason, []).append(row.source_name)
    return [
        f"{first}{f' and {len(others):,} more' if others else ''}: refused: {reason}"
        for reason, (first, *others) in names.items()
    ]


def _read_states(client: Client, hashes: Sequence[str]) -> list[Checkpoint]:
    """Return how far the checks are; nothing where the server does not say it."""
    try:
        return [client.checkpoints.get(sha) for sha in hashes]
    except (ClientError, KeyboardInterrupt):
        return []  # who interrupts ends with that, not with what else is wrong


def _send_files(client: Client, options: Namespace) -> list[str]:
    """Return the hashes of what was sent; say what was, where the rest could not be."""
    files = _find_files(options)
    _check_names(client, options, files)
    sent: list[Checkpoint] = []
    try:
        for step, path in files:
            if options.sha256 and (digest := compute_sha256(path)) != options.sha256:
                raise InputError("sha256", f"{path} has {digest}, not {options.sha256}")
            sent.append(
                client.checkpoints.upload(
                    path,
                    name=options.agent,
                    step=step,
                    game=options.game,
                    architecture=options.architecture,
                    parameters=dict(options.parameter) or None,
                    parent=sent[-1].sha256 if sent else options.parent,
                    placement=options.placement,
                )
            )
    except (ClientError, KeyboardInterrupt):
        if sent:
            names = ", ".join(f"{options.agent}@{checkpoint.step}" for checkpoint in sent)
            sys.stderr.write(
                f"added before it: {names}; for the rest take their files out of the folder "
                f"and say --parent {sent[-1].sha256}\n"
            )
        raise
    return [checkpoint.sha256 for checkpoint in sent]


def _check_names(
    client: Client, options: Namespace, files: Sequence[tuple[int | None, Path]]
) -> None:
    """Refuse a run with a name that is taken, before anything is sent. Raises InputError."""
    # The server takes one file at a time, so it would keep those before the one that it refuses.
    for step, path in files if options.path.is_dir() else ():
        name, game = f"{options.agent}@{step}", options.game or read_game(path)
        agent = next(
            (listed for listed in client.agents.list(name=name) if listed.game == game), None
        )
        if agent is None:
            continue
        # One whose checkpoint was refused has never played: the server gives its name again.
        stored = agent.checkpoint and client.checkpoints.get(agent.checkpoint)
        if not stored or stored.state != "refused":
            advice = "nothing was added, choose another name"
            raise InputError("name", f"{path}: {name!r} is already an agent of {game}: {advice}")


def wait_checked(client: Client, sha: str, *, is_waiting: bool) -> Checkpoint:
    """Return a checkpoint, checked if it is to be waited for; say what its check waits for."""
    checkpoint = client.checkpoints.get(sha)
    if not is_waiting or checkpoint.state != "checking":
        return checkpoint
    if checkpoint.waits_for:
        sys.stderr.write(f"waiting for {checkpoint.waits_for} (start the system with ./run)\n")
    return client.checkpoints.wait(sha)


def _find_files(options: Namespace) -> list[tuple[int | None, Path]]:
    if not options.path.is_dir():
        return [(options.step, options.path)]
    for name in ("step", "sha256"):
        if getattr(options, name) not in (None, ""):
            raise InputError(name, f"is of a file; {options.path} is a folder")
    return [*find_run(options.path)]


def show_checkpoint(client: Client, options: Namespace) -> Answer:
    """Show everything that is known of a checkpoint."""
    text = options.hash
    agent = client.agents.find(text, game=options.game) if options.game else None
    if agent is not None and agent.checkpoint is not None:
        matching = [client.checkpoints.get(agent.checkpoint)]
    else:
        stored = client.checkpoints.list(game=options.game or None, page_size=1_000)
        matching = [
            checkpoint for checkpoint in stored if checkpoint.sha256.startswith(text.lower())
        ]
    if len(matching) != 1 or (len(text) < SHORTEST and agent is None):
        advice = "no checkpoint begins so, or several do; `evalsite checkpoints` shows all"
        raise InputError("hash", f"{text!r}: {advice}")
    names = ", ".join(sorted(agent.name for agent in matching[0].agents))
    pairs = {**vars(matching[0]), "agents": names}
    return Answer(matching[0], format_pairs(pairs))


def upload_checkpoint(client: Client, options: Namespace) -> Answer:
    """Send a safetensors file, which registers its agent."""
    checkpoint = client.checkpoints.upload(
        options.file,
        progress=_make_progress(),
        name=options.name,
        game=options.game,
        architecture=options.architecture,
        parameters=dict(options.parameter),
        parent=options.parent,
        placement=options.placement,
        step=options.step,
    )
    if options.wait:
        checkpoint = client.checkpoints.wait(checkpoint.sha256, timeout_s=options.timeout)
    return Answer(
        checkpoint,
        _describe_checkpoint(checkpoint),
        REFUSED if checkpoint.state == "refused" else 0,
    )


def show_checkpoints(client: Client, options: Namespace) -> Answer:
    """List checkpoints, the newest first."""
    checkpoints = client.checkpoints.list(
        game=options.game,
        run=options.training_run,
        state=options.state,
        page_size=page_size(options),
    )
    shown_checkpoints = take_rows(checkpoints, options)
    return Answer(
        shown_checkpoints,
        format_table(HEAD, [_make_row(checkpoint) for checkpoint in shown_checkpoints]),
    )


def _make_added_row(checkpoint: Checkpoint) -> list[object]:
    names = ", ".join(sorted(agent.name for agent in checkpoint.agents))
    return [
        names,
        checkpoint.step,
        checkpoint.sha256[:12],
        checkpoint.state,
        checkpoint.placement or None,
        checkpoint.row_ms,
    ]


def _make_row(checkpoint: Checkpoint) -> list[object]:
    names = " ".join(agent.name for agent in checkpoint.agents)
    cells = (
        checkpoint.sha256[:12],
        checkpoint.game,
        checkpoint.architecture,
        checkpoint.state,
        names,
    )
    return [*cells, checkpoint.n_bytes, checkpoint.created_at]


def _describe_checkpoint(checkpoint: Checkpoint) -> str:
    return format_pairs(
        {
            "sha256": checkpoint.sha256,
            "agents": ", ".join(f"{agent.name} ({agent.id})" for agent in checkpoint.agents),
            "game": checkpoint.game,
            "architecture": checkpoint.architecture,
            "placement": checkpoint.placement,
            "state": checkpoint.state,
            "reason": checkpoint.reason,
            "waits for": checkpoint.waits_for,
        }
    )


class _Sending:
    """Shows on a terminal how much of a file is sent."""

    def __call__(self, n_sent: int, n_bytes: int) -> None:
        """Write it in place."""
        share = n_sent / n_bytes if n_bytes else 1.0
        end = "\n" if n_sent >= n_bytes else ""
        text = f"\r{share:4.0%} of {n_bytes / MEGABYTE:,.1f} MB sent{end}"
        sys.stderr.write(text)
        sys.stderr.flush()


def _make_progress() -> _Sending | None:
    return _Sending() if sys.stderr.isatty() else None
