"""Commands of checkpoints: upload, list."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from evalsite_client.api.checkpoints import Checkpoint
from evalsite_client.cli.options import (
    add_limit,
    command,
    first,
    page_size,
    pair,
    seconds,
    whole,
)
from evalsite_client.cli.show import Answer, pairs, table
from evalsite_client.client import Client

REFUSED = 2
HEAD = ("sha256", "game", "architecture", "state", "agents", "bytes", "created")
MEGABYTE = 1_000_000


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    new = command(
        commands,
        "upload",
        upload,
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
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the architecture",
    )
    new.add_argument("--step", type=whole(), help="of the training run; the agent is NAME@STEP")
    new.add_argument("--parent", default="", help="a hash, or an agent's name")
    new.add_argument("--placement", choices=("local", "gpu"), default="", help="else as measured")
    new.add_argument("--wait", action="store_true", help="until it is checked")
    new.add_argument("--timeout", type=seconds, metavar="S", help="of the wait")
    listed = command(commands, "checkpoints", show_checkpoints)
    listed.add_argument("--game")
    listed.add_argument("--run", dest="training_run", metavar="RUN")
    listed.add_argument("--state", choices=("checking", "ready", "refused"))
    add_limit(listed)


def upload(client: Client, options: Namespace) -> Answer:
    """Send a safetensors file, which registers its agent."""
    found = client.checkpoints.upload(
        options.file,
        progress=_shown(),
        name=options.name,
        game=options.game,
        architecture=options.architecture,
        parameters=dict(options.parameter),
        parent=options.parent,
        placement=options.placement,
        step=options.step,
    )
    if options.wait:
        found = client.checkpoints.wait(found.sha256, timeout_s=options.timeout)
    return Answer(found, _text(found), REFUSED if found.state == "refused" else 0)


def show_checkpoints(client: Client, options: Namespace) -> Answer:
    """List checkpoints, the newest first."""
    checkpoints = client.checkpoints.list(
        game=options.game,
        run=options.training_run,
        state=options.state,
        page_size=page_size(options),
    )
    found = first(checkpoints, options)
    return Answer(found, table(HEAD, [_row(checkpoint) for checkpoint in found]))


def _row(one: Checkpoint) -> list[object]:
    names = " ".join(agent.name for agent in one.agents)
    known = (one.sha256[:12], one.game, one.architecture, one.state, names)
    return [*known, one.n_bytes, one.created_at]


def _text(one: Checkpoint) -> str:
    return pairs(
        {
            "sha256": one.sha256,
            "agents": ", ".join(f"{agent.name} ({agent.id})" for agent in one.agents),
            "game": one.game,
            "architecture": one.architecture,
            "placement": one.placement,
            "state": one.state,
            "reason": one.reason,
            "waits for": one.waits_for,
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


def _shown() -> _Sending | None:
    return _Sending() if sys.stderr.isatty() else None
