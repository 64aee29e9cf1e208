"""`evalsite generate`: play agents against each other or themselves and keep every decision."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from http import HTTPStatus
from math import ceil
from pathlib import Path
from typing import Any, Final

from evalsite_client import generation
from evalsite_client.api.tournaments import TournamentDetail
from evalsite_client.cli import following
from evalsite_client.cli.options import add_command, read_pair, read_whole, read_within
from evalsite_client.cli.saving import save_json
from evalsite_client.cli.show import Answer
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import InputError, ProblemError
from evalsite_client.generation import Collection, LackingError, StoppedError
from evalsite_client.retries import ask_again

MAX_MATCHES: Final = 100_000_000
MATCHES_PER_SHARD: Final = 1_000
POLL_S: Final = 0.5
BAD_INPUT: Final = 2
# What the server asks, with its own defaults where nothing is given.
SENT: Final = (
    *("agent_a", "checkpoint_a", "agent_b", "checkpoint_b", "game", "opening_plies"),
    *("seed", "move_s", "match_s", "keep_days"),
)
# What decides the content of the files: the same in every call for a folder.
CONTENT: Final = ("game_parameters", "opening_plies", "matches", "seed", "move_s", "match_s")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command; the types of its options refuse what is out of range (exit status 2)."""
    add = add_command(
        commands,
        "generate",
        generate_trajectories,
        has_file=True,
        examples="  evalsite generate --agent-a ppo@2000 --agent-b ppo@1000 --matches 500 --out a\n"
        "  evalsite generate --agent-a mcts:100 --game connect_four --matches 500 --out b\n"
        "  evalsite generate --tournament 12 --out stored\n"
        "  exit status: 0 done, 1 failed, 2 refused, 130 Ctrl-C: the same command goes on",
    ).add_argument
    add("--agent-a", "--model-a", metavar="A", help="name of an agent, or such as mcts:100")
    add("--agent-b", "--model-b", metavar="B", help="left out: A plays itself")
    add("--checkpoint-a", default="", metavar="STEP|HASH", help="of the run that A names")
    add("--checkpoint-b", default="", metavar="STEP|HASH", help="of the run that B names")
    add("--game", default="", help="needed where the names do not tell")
    add("--game-parameter", type=read_pair, action="append", default=[], metavar="NAME=VALUE")
    add("--matches", type=read_whole(1, MAX_MATCHES), metavar="N")
    add("--out", "--save-dir", type=Path, required=True, metavar="DIR")
    add(
        "--seed",
        type=read_whole(0, 2**62),
        default=0,
        help="the same seed plays the same games (0)",
    )
    add("--opening-plies", type=read_whole(0, 1_000), help="seeded random plies; else the game's")
    add("--matches-per-shard", type=read_whole(1, 10_000), default=MATCHES_PER_SHARD)
    add("--move-s", type=read_within(0.01, 86_400), default=10.0, help="limit of a move (10)")
    add("--match-s", type=read_within(0.01, 86_400), default=600.0, help="limit of a match (600)")
    add(
        "--keep-days",
        type=read_whole(1, 32_767),
        default=30,
        help="how long the server keeps its pieces (30)",
    )
    add(
        "--num-workers",
        type=read_whole(1, 1_000_000),
        help="split the matches into at least so many orders",
    )
    add("--matches-per-worker", type=read_whole(1, MAX_MATCHES), help="matches of an order")
    add(
        "--batch-size",
        type=read_whole(1, 1 << 20),
        help="refused: set EVALSITE_MAX_BATCH_SIZE of the gpu workers",
    )
    add(
        "--timeout-ms",
        type=read_whole(0, 60_000),
        help="refused: set EVALSITE_MAX_WAIT_MS of the gpu workers",
    )
    add("--tournament", type=read_whole(1), metavar="ID", help="only fetch what is stored of one")


def generate_trajectories(client: Client, options: Namespace) -> Answer:
    """Play matches, unrated, and save the trajectories as Parquet shards with a manifest."""
    _refuse_server_settings(options)
    try:
        tournament = (
            _start_run(client, options)
            if options.tournament is None
            else _open_stored(client, options)
        )
        collection = Collection(client, tournament, options.out, options.matches_per_shard)
    except LackingError as error:
        return Answer(None, "", BAD_INPUT, str(error))
    except KeyboardInterrupt:
        complaint = "interrupted: the same command begins or goes on"
        return Answer(None, "", INTERRUPTED, complaint)
    return _collect(client, tournament, collection, options)


def _start_run(client: Client, options: Namespace) -> int:
    """Return the tournament, scheduled once all that it needs is there."""
    body = _read_body(options)
    checked = client.generations.check(**body)
    settings = {
        "agents": [list(agent) for agent in checked.agents],
        "game": checked.game,
        **{name: body[name] for name in CONTENT},
        "matches_per_shard": options.matches_per_shard,
    }
    run = generation.open_run(options.out, settings)
    if not (run.folder / generation.RUN).exists():
        if checked.missing:
            limit = f"up to {generation.WORKER_WAIT_S:g} s"
            sys.stderr.write(f"waiting {limit} for {'; '.join(checked.missing)}\n")
        generation.wait_for_workers(client, run.folder, body, checked)
    run.save()
    tournament = client.generations.create(**body, run_key=run.key).tournament
    out = following.find_stream(options)
    following.write_line(out, f"Tournament {tournament} plays for {run.folder}, unrated.")
    return tournament


def _open_stored(client: Client, options: Namespace) -> int:
    """Return the tournament to fetch. Raises InputError unless it keeps trajectories."""
    for option in ("agent_a", "agent_b", "matches", "num_workers"):
        if getattr(options, option) is not None:
            raise InputError(option, "does not go with --tournament")
    stored = client.tournaments.get(options.tournament)
    if not stored.keeps_trajectories:
        reason = f"there is no tournament {stored.id} that keeps trajectories"
        raise InputError("tournament", reason)
    # When it was made tells it from that of another server with the same number.
    settings = {
        "tournament": stored.id,
        "created_at": stored.created_at.isoformat(),
        "matches_per_shard": options.matches_per_shard,
    }
    generation.open_run(options.out, settings).save()
    return stored.id


def _refuse_server_settings(options: Namespace) -> None:
    """Refuse what only gpu workers can be told, at their start. Raises InputError."""
    for option, variable in (
        ("batch_size", "EVALSITE_MAX_BATCH_SIZE"),
        ("timeout_ms", "EVALSITE_MAX_WAIT_MS"),
    ):
        value = getattr(options, option)
        if value is not None:
            raise InputError(
                option,
                f"{value}: gpu workers read it when they start, for all who ask them: "
                f"start them with {variable}={value}",
            )


def _read_body(options: Namespace) -> dict[str, Any]:
    """Return what was asked for. Raises InputError for options that do not go together."""
    if not options.agent_a:
        raise InputError("agent_a", "is missing: name an agent")
    if options.checkpoint_b and not options.agent_b:
        raise InputError("checkpoint_b", "needs --agent-b")
    n_matches, order_limit = _read_sizes(options)
    return {
        **{name: getattr(options, name) for name in SENT},
        "agent_b": options.agent_b or "",
        "game_parameters": dict(options.game_parameter),
        "matches": n_matches,
        "order_limit": order_limit,
    }


def _read_sizes(options: Namespace) -> tuple[int, int | None]:
    """Return how many matches there are and how many an order holds. Raises InputError."""
    n, workers, each = options.matches, options.num_workers, options.matches_per_worker
    if n is None:
        if workers is None or each is None:
            reason = "is missing; or give --num-workers and --matches-per-worker"
            raise InputError("matches", reason)
        n = workers * each
        if n > MAX_MATCHES:
            raise InputError("matches", f"{workers} x {each} are over {MAX_MATCHES}")
    elif workers is not None and each is not None and n != workers * each:
        raise InputError("matches", f"{n} is not {workers} workers x {each} matches")
    return n, each or (ceil(n / workers) if workers else None)


def _collect(client: Client, tournament: int, collection: Collection, options: Namespace) -> Answer:
    """Fetch what is played until all is there, or until somebody stops it."""
    out, began_s = following.find_stream(options), client.clock.monotonic()
    try:
        _follow_shards(client, tournament, collection, options)
    except KeyboardInterrupt:
        # The manifest is written with each shard, so it names all that are whole.
        following.write_line(out, f"\n{len(collection.shards)} whole shard(s) are in {options.out}")
        complaint = (
            f"interrupted: the matches of tournament {tournament} go on being played; "
            f"the same command goes on collecting them, `evalsite cancel {tournament}` ends them"
        )
        return Answer(None, "", INTERRUPTED, complaint)
    except StoppedError as error:
        return Answer(None, "", 1, str(error))
    except ProblemError as error:
        if error.status != HTTPStatus.GONE:
            raise
        return Answer(None, "", 1, str(error))
    manifest = collection.build_manifest()
    elapsed_s = client.clock.monotonic() - began_s
    for line in generation.summarise(manifest, elapsed_s=elapsed_s):
        following.write_line(out, line)
    path = options.out / generation.MANIFEST
    following.write_line(out, f"{path} names {len(collection.shards)} shard(s)")
    if isinstance(options.json, Path):
        save_json(options.json, manifest)
    return Answer(manifest)


def _follow_shards(
    client: Client, tournament: int, collection: Collection, options: Namespace
) -> None:
    """Fetch shards as their matches are closed, until all are. Raises ClientError, OSError."""
    out, clock = following.find_stream(options), client.clock
    began_s = clock.monotonic()
    shown_s = began_s - following.LINE_EVERY_S
    for one, trouble in ask_again(collection.fetch_ready, clock, poll_s=POLL_S):
        now_s = clock.monotonic()
        if collection.is_complete:
            line = _describe_progress(one, collection, now_s - began_s)
            following.write_line(out, line)
            return
        # Those closed before it was cancelled are in the shards by now.
        if not trouble and one.state == "cancelled":
            why = one.problem or "somebody cancelled it"
            raise StoppedError(f"tournament {tournament} was cancelled: {why}")
        if now_s - shown_s >= following.LINE_EVERY_S:
            shown_s = now_s
            waits = () if trouble else client.tournaments.explain(tournament).waits_for
            line = _describe_progress(one, collection, now_s - began_s)
            more = f"; no answer: {trouble}" if trouble else ""
            more += f"; waits for {', '.join(waits)}" if waits else ""
            following.write_line(out, f"{line}{more}")


def _describe_progress(
    tournament: TournamentDetail, collection: Collection, elapsed_s: float
) -> str:
    shards = f"{len(collection.shards)} shard(s) with {collection.n_episodes} episodes"
    return f"{following.describe_progress(tournament, elapsed_s)}, {shards}"
