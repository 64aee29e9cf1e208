"""`evalsite watch`: follow a tournament to its end."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from typing import Any

from evalsite_client.cli.options import command, seconds, whole
from evalsite_client.cli.show import Answer, as_json
from evalsite_client.client import Client
from evalsite_client.progress import Progress, duration

ENDED_EARLY = 1


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    watched = command(
        commands,
        "watch",
        watch,
        examples="  evalsite watch 7\n  evalsite watch 7 --json | jq .matches_per_s",
    )
    watched.add_argument("tournament", type=whole(1), metavar="ID")
    watched.add_argument("--timeout", type=seconds, metavar="S", help="give up after so long")
    watched.add_argument("--every", type=seconds, default=1.0, metavar="S", help="look so often")


def watch(client: Client, options: Namespace) -> Answer:
    """Follow a tournament to its end; Ctrl-C leaves it running. 1 if it was cancelled."""
    return follow(
        client,
        options.tournament,
        is_json=options.json,
        timeout_s=options.timeout,
        every_s=options.every,
    )


def follow(
    client: Client,
    tournament: int,
    *,
    is_json: bool,
    timeout_s: float | None,
    every_s: float = 1.0,
) -> Answer:
    """Show how far a tournament is until it is over; with JSON a line per look on stdout."""
    try:
        found = client.tournaments.wait(
            tournament,
            progress=_write_line if is_json else None,
            timeout_s=timeout_s,
            poll_s=every_s,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"evalsite: tournament {tournament} goes on without you\n")
        raise
    took = ""
    if found.started_at and found.finished_at:
        took = f" after {duration((found.finished_at - found.started_at).total_seconds())}"
    text = f"{found.name} is {found.state}{took}: {found.n_done:,} of {found.n_matches:,} played"
    status = 0 if found.state == "done" else ENDED_EARLY
    # As JSON the last line has said it already.
    return Answer(None if is_json else found, text, status)


def _write_line(seen: Progress) -> None:
    sys.stdout.write(f"{as_json(_values(seen), indent=None)}\n")
    sys.stdout.flush()


def _values(seen: Progress) -> dict[str, Any]:
    one = seen.tournament
    return {
        "tournament": one.id,
        "name": one.name,
        "state": one.state,
        "n_closed": one.n_closed,
        "n_matches": one.n_matches,
        "n_done": one.n_done,
        "n_forfeits": one.n_forfeits,
        "n_void": one.n_void,
        "n_cancelled": one.n_cancelled,
        "elapsed_s": round(seen.elapsed_s, 3),
        "matches_per_s": seen.matches_per_s,
        "eta_s": seen.eta_s,
        "waits_for": seen.waits_for,
        "trouble": seen.trouble,
    }
