"""`evalsite watch`: follow a tournament to its end, or the folder of a training run."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from typing import Any

from evalsite_client.cli.options import (
    add_command,
    duration_s,
    read_pair,
    read_seconds,
    read_whole,
    read_within,
    split_agents,
)
from evalsite_client.cli.show import Answer, as_json
from evalsite_client.cli.watching import read_address, watch_folder
from evalsite_client.client import Client
from evalsite_client.errors import InputError
from evalsite_client.progress import Progress, format_duration

ENDED_EARLY = 1
EVERY_S, FOLDER_EVERY_S = 1.0, 60.0


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    watched = add_command(
        commands,
        "watch",
        watch_target,
        examples="  evalsite watch 7\n  evalsite watch 7 --json | jq .matches_per_s\n"
        "  evalsite watch runs/ppo --agent ppo --game connect_four --every 60s --budget 200\n"
        "  exit status: 1 cancelled, or a regression (--once, --stop-on-regression), 2 refused, "
        "also a new checkpoint, 130 Ctrl-C",
    )
    flag = watched.add_argument
    flag("target", metavar="ID|FOLDER", help="a tournament, or a folder of *.safetensors")
    flag(
        "--timeout", type=read_seconds, metavar="S", help="for a tournament: give up after so long"
    )
    flag("--every", type=duration_s, metavar="S", help="how often to look (1s; 60s for a folder)")
    folder = watched.add_argument_group("for a folder")
    flag = folder.add_argument
    flag("--agent", metavar="NAME", help="agents become NAME@STEP")
    flag(
        "--budget",
        type=read_whole(2, 10_000_000),
        default=200,
        help="matches per checkpoint (%(default)s)",
    )
    margins = folder.add_mutually_exclusive_group()
    help_text = "how much worse it may be, in units of rating of 45 Elo each (%(default)s)"
    margins.add_argument("--margin", type=read_within(0, 100), default=1.0, help=help_text)
    help_text = "for a game of one seat: the same in mean score on equal seeds"
    margins.add_argument("--margin-score", type=read_within(0, 100), metavar="M", help=help_text)
    flag(
        "--level",
        type=read_within(0.5, 0.9999),
        default=0.95,
        help="the probability of being worse that raises an alarm (%(default)s)",
    )
    flag(
        "--against",
        type=split_agents,
        default=["random"],
        help="agents that every checkpoint also meets; RUN@*: all of a run (random)",
    )
    flag("--leaderboard", default="", help="default: one for the watches of the game")
    flag("--game", default="", help="needed unless the files are sealed")
    flag("--architecture", default="", help="such as mlp; needed unless the files are sealed")
    flag("--parameter", type=read_pair, action="append", default=[], metavar="NAME=VALUE")
    flag("--webhook", type=read_address, help="an alarm is posted there as JSON")
    flag("--once", action="store_true", help="evaluate what is new and end")
    flag("--stop-on-regression", action="store_true", help="end at the first alarm")


def watch_target(client: Client, options: Namespace) -> Answer:
    """Follow a tournament to its end, or rate each new checkpoint of a folder."""
    target = options.target
    if options.agent is None and not target.isdecimal():
        problem = "no whole number of a tournament; of a folder --agent names the run"
        raise InputError("ID|FOLDER", f"{target!r} is {problem}")
    if options.agent is not None:
        options.every = options.every or FOLDER_EVERY_S
        return watch_folder(client, options)
    return watch_tournament(
        client,
        int(target),
        is_json=options.json,
        timeout_s=options.timeout,
        every_s=options.every or EVERY_S,
    )


def watch_tournament(
    client: Client,
    tournament: int,
    *,
    is_json: bool,
    timeout_s: float | None,
    every_s: float = 1.0,
) -> Answer:
    """Show how far a tournament is until it is over; with JSON a line per look on stdout."""
    try:
        ended = client.tournaments.wait(
            tournament,
            progress=_write_line if is_json else None,
            timeout_s=timeout_s,
            poll_s=every_s,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"evalsite: tournament {tournament} goes on without you\n")
        raise
    took = ""
    # An end before its start is of a server's clock that was set back meanwhile.
    if ended.started_at and ended.finished_at and ended.finished_at >= ended.started_at:
        took = f" after {format_duration((ended.finished_at - ended.started_at).total_seconds())}"
    text = f"{ended.name} is {ended.state}{took}: {ended.n_done:,} of {ended.n_matches:,} played"
    status = 0 if ended.state == "done" else ENDED_EARLY
    # As JSON the last line has said it already.
    return Answer(None if is_json else ended, text, status)


def _write_line(progress: Progress) -> None:
    sys.stdout.write(f"{as_json(_make_values(progress), indent=None)}\n")
    sys.stdout.flush()


def _make_values(progress: Progress) -> dict[str, Any]:
    tournament = progress.tournament
    return {
        "tournament": tournament.id,
        "name": tournament.name,
        "state": tournament.state,
        "n_closed": tournament.n_closed,
        "n_matches": tournament.n_matches,
        "n_done": tournament.n_done,
        "n_forfeits": tournament.n_forfeits,
        "n_void": tournament.n_void,
        "n_cancelled": tournament.n_cancelled,
        "elapsed_s": round(progress.elapsed_s, 3),
        "matches_per_s": progress.matches_per_s,
        "eta_s": progress.eta_s,
        "waits_for": progress.waits_for,
        "trouble": progress.trouble,
    }
