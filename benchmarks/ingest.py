"""How many steps a second the server takes over HTTP while the sink keeps up.

./run bench ingest [--clients N] [--seconds S] [--rate R] [--matches] [--json FILE]

Clients of their own processes send chunks of 256 steps of CartPole, drawn before, each under an id
of its own, one after the other on a connection that stays. With --matches a tournament is played
by itself, beside it and by itself again, and how much slower it gets is a column: as fast as they
can clients and server take all cores of a small machine, so give a --rate of steps a second then.
"""

import http.client
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from json import dumps, loads
from statistics import mean, median, quantiles
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psutil

from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.stacks import (
    LEVELS,
    cpu_seconds,
    open_board,
    private_stack,
    schedule_agents,
    wait_until,
)
from benchmarks.uploads import N_STEPS, PATH, make_body
from launcher.programs import ONE_THREAD, PYTHON
from launcher.stack import Stack

TARGET_PER_S = 50_000
MOST_SLOWER = 0.2
# Of a rate that is asked for.
REACHED = 0.95
WARM_S, LOOK_EVERY_S, KEEPS_UP_S = 3.0, 1.0, 90.0
SEND = "send"
PACE_S = 15.0
ACCEPTED, BUSY = 202, (429, 503)


def measure(options: Namespace) -> dict[str, Any]:
    """Return the figures of one run."""
    shape: dict[str, Any] = {"web": True, "nodes": int(options.matches), "experience": True}
    with private_stack(**shape, settings={"EVALSITE_EXPERIENCE_QUOTA": "0"}) as stack:
        alone_per_s = [_measure_matches(PACE_S)] if options.matches else []
        senders = _start_senders(stack, options)
        sleep(WARM_S)
        figures = _watch(stack, options)
        beside_per_s = figures.pop("matches_per_s")
        replies = [loads(sender.communicate()[0]) for sender in senders]
        n_sent = sum(reply["n_steps"] for reply in replies)
        figures |= {
            "transitions_per_s": round(sum(r["n_steps"] / r["seconds"] for r in replies)),
            "chunks": n_sent // N_STEPS,
            "refused": sum(reply["n_busy"] for reply in replies),
            "p99_ms": max(reply["p99_ms"] for reply in replies),
            "p50_ms": median(reply["p50_ms"] for reply in replies),
            "sink_s": _await_sink(n_sent),
        }
        figures["cpu_us_per_transition"] = round(1e6 * figures.pop("cpu_s") / n_sent, 2)
        if alone_per_s:
            alone_per_s.append(_measure_matches(PACE_S))
            figures |= {
                "matches_alone_per_s": round(mean(alone_per_s), 1),
                "matches_beside_per_s": round(beside_per_s, 1),
                "matches_slower": round(1 - beside_per_s / mean(alone_per_s), 3),
            }
    return figures


def _start_senders(stack: Stack, options: Namespace) -> "list[subprocess.Popen[str]]":
    from matches.access.tokens import find_or_issue_token  # noqa: PLC0415

    token = find_or_issue_token("", user="bench", name="ingest")
    env = {**os.environ, **ONE_THREAD, "EVALSITE_TOKEN": token}
    address = urlsplit(stack.plan.addresses()["Board"]).netloc
    every_s = options.clients * N_STEPS / options.rate if options.rate else 0.0
    arguments = (SEND, address, str(options.seconds + WARM_S), str(every_s))
    command = [PYTHON, "-m", "benchmarks.ingest", *arguments]
    return [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(options.clients)
    ]


def send_chunks(address: str, seconds: float, every_s: float) -> dict[str, float]:
    """Send chunks for so long; return how many steps were accepted, and how long answers took.

    every_s: from one chunk to the next; 0: at once.
    """
    connection = http.client.HTTPConnection(address, timeout=30)
    headers = {
        "Authorization": f"Token {os.environ['EVALSITE_TOKEN']}",
        "Content-Type": "application/msgpack",
    }
    latencies_s: list[float] = []
    began_s, n_busy = monotonic(), 0
    next_s = began_s
    while (sent_s := monotonic()) - began_s < seconds:
        if sent_s < next_s:
            sleep(next_s - sent_s)
            sent_s = monotonic()
        next_s += every_s
        connection.request("POST", PATH, make_body(uuid4()), headers)
        response = connection.getresponse()
        text = response.read()
        if response.status == ACCEPTED:
            latencies_s.append(monotonic() - sent_s)
            continue
        if response.status not in BUSY:
            raise SystemExit(f"{response.status}: {text[:300]!r}")
        n_busy += 1
        sleep(0.1)
    cuts = quantiles(latencies_s, n=100)
    return {
        "n_steps": N_STEPS * len(latencies_s),
        "n_busy": n_busy,
        "seconds": monotonic() - began_s,
        "p50_ms": round(1_000 * cuts[49], 2),
        "p99_ms": round(1_000 * cuts[98], 2),
    }


def _watch(stack: Stack, options: Namespace) -> dict[str, float]:
    """Return CPU time and memory of what takes uploads, while clients send."""
    takers = ("web", "stream", "sink")
    cpu_before, rss_before = cpu_seconds(stack), _read_rss_mb(stack, takers)
    most_mb, ends_s = rss_before, monotonic() + options.seconds
    matches_per_s = _measure_matches(options.seconds) if options.matches else 0.0
    while monotonic() < ends_s:
        sleep(LOOK_EVERY_S)
        most_mb = max(most_mb, _read_rss_mb(stack, takers))
    cpu_after = cpu_seconds(stack)
    return {
        "cpu_s": sum(cpu_after[name] - cpu_before[name] for name in takers),
        "rss_growth_mb": round(_read_rss_mb(stack, takers) - rss_before, 1),
        "rss_most_mb": round(most_mb, 1),
        "matches_per_s": matches_per_s,
    }


def _read_rss_mb(stack: Stack, names: Sequence[str]) -> float:
    pids = stack.pids()
    return sum(psutil.Process(pids[name]).memory_info().rss for name in names) / 1e6


def _measure_matches(seconds: float) -> float:
    """Return how many matches of the skill game are done in a second."""
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415
    from matches.ledger.tournaments import cancel_tournament  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    agents = [register_spelled_agent(level, game="skill_game") for level in LEVELS]
    board = open_board(f"beside-{uuid4().hex[:8]}", "skill_game")
    tournament = schedule_agents(board, agents, 1_000_000, seed=1)
    sleep(WARM_S)
    tournament.refresh_from_db()
    n_before, began_s = tournament.n_done, monotonic()
    sleep(max(1.0, seconds - WARM_S))
    tournament.refresh_from_db()
    per_s = (tournament.n_done - n_before) / (monotonic() - began_s)
    cancel_tournament(tournament, now=db_now())
    return float(per_s)


def _await_sink(n_steps: int) -> float:
    """Return after how many seconds the sink has written all of it. Raises TimeoutError."""
    from django.db.models import Sum  # noqa: PLC0415

    from experience.models import Segment  # noqa: PLC0415

    began_s = monotonic()
    wait_until(
        lambda: (Segment.objects.aggregate(n=Sum("n_rows"))["n"] or 0) >= n_steps,
        limit_s=KEEPS_UP_S,
        what="writing segments",
    )
    return round(monotonic() - began_s, 1)


def main(arguments: Sequence[str]) -> int:
    """Measure; print the table. Return 0 where the target is reached, else 1."""
    if arguments[:1] == [SEND]:
        print(dumps(send_chunks(arguments[1], *map(float, arguments[2:]))))
        return 0
    parser = make_parser("ingest", "Upload chunks of steps as fast as they are taken.")
    parser.add_argument("--clients", type=whole_number(1), default=4, metavar="N")
    parser.add_argument("--seconds", type=number_of_seconds(5), default=30.0, metavar="S")
    parser.add_argument("--rate", type=whole_number(0), default=0, metavar="R", help="0: no limit")
    parser.add_argument("--matches", action="store_true", help="also play a tournament beside it")
    options = parser.parse_args(arguments)
    figures = measure(options)
    target_per_s = min(options.rate * REACHED, TARGET_PER_S) if options.rate else TARGET_PER_S
    ratio = figures["transitions_per_s"] / target_per_s
    rows: list[tuple[str, Any, float, Any]] = [
        ("transitions a second", figures["transitions_per_s"], target_per_s, ratio)
    ]
    if "matches_slower" in figures:
        slower = figures["matches_slower"]
        rows.append(("matches slower by", slower, MOST_SLOWER, slower / MOST_SLOWER))
    names = ("chunks", "refused", "cpu_us_per_transition", "p50_ms", "p99_ms", "rss_growth_mb")
    others = [(name, figures[name], None, None) for name in (*names, "sink_s")]
    table = format_table(("", "ours", "limit", "ratio"), [*rows, *others])
    write_report(table, figures, options.json)
    return 0 if ratio >= 1 and figures.get("matches_slower", 0.0) <= MOST_SLOWER else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
