"""The same battles on the real stack: web, relay, ten play slots, one gpu worker, ratings.

Django is set up only when the stack runs, so what needs it is imported then.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.serving.battles import GAME, N_WORKERS, TEMPERATURE, Battle, wins_of
from benchmarks.serving.ours import Counts, free_port
from benchmarks.stacks import cpu_seconds, private_stack

READY_S = 60.0
LIMIT_S = 1_800.0
POLL_S = 0.02
WARMING = 10 * N_WORKERS
N_THREADS = 2
# A second one, with a shard of its own, takes the other core: less time, but smaller batches.
N_GPUS = 1


class OnStack(NamedTuple):
    """What the stack played: battles and ranks in planned order, and what it cost."""

    battles: list[Battle]
    ranks: list[list[int]]
    wins: Counter[int]
    wall_s: float
    cpu_s: dict[str, float]
    counts: dict[str, float]


def run(n: int, paths: Sequence[Path]) -> OnStack:
    """Play n battles between two checkpoints in deterministic mode."""
    port = free_port()
    settings = {
        "EVALSITE_DETERMINISTIC": "1",
        "EVALSITE_METRICS_PORT": str(port),
        "EVALSITE_SHARDS": str(N_GPUS),
        # The copies use every core too.
        "EVALSITE_THREADS": str(N_THREADS),
    }
    with private_stack(nodes=1, slots=N_WORKERS, gpus=N_GPUS, web=True, settings=settings) as stack:
        agents = _agents(paths)
        # Imports are not counted on the other side either.
        _wait(_schedule(agents, WARMING, seed=1))
        counts, used = Counts(port, N_GPUS), cpu_seconds(stack)
        before = counts.read()
        began = time.monotonic()
        tournament = _schedule(agents, n, seed=0)
        _wait(tournament)
        wall_s = time.monotonic() - began
        spent = {name: s - used.get(name, 0.0) for name, s in cpu_seconds(stack).items()}
        gained = {name: value - before.get(name, 0.0) for name, value in counts.read().items()}
        gained["models_loaded"] = counts.read().get("models_loaded", 0.0)
        return _collected(tournament, agents, wall_s, spent, gained)


def _agents(paths: Sequence[Path]) -> list[Any]:
    """Register both checkpoints, wait until they are checked, let them sample."""
    from matches.artifacts.checkpoints import New, add_checkpoint  # noqa: PLC0415
    from matches.models import Agent, Checkpoint  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    agents = [
        add_checkpoint(path, New(name=f"network-{number}", placement="gpu"), now=db_now())
        for number, path in enumerate(paths)
    ]
    deadline = time.monotonic() + READY_S
    waiting = Checkpoint.objects.exclude(state=Checkpoint.State.READY)
    while waiting.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not checked: {list(waiting.values('state', 'reason'))}")
        time.sleep(POLL_S)
    Agent.objects.update(parameters={"temperature": TEMPERATURE})
    return agents


def _schedule(agents: Sequence[Any], n: int, *, seed: int) -> Any:
    from matches.ledger.tournaments import open_leaderboard, schedule_tournament  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415

    board = open_leaderboard(f"battles-{seed}", game=GAME)
    plan = TournamentPlan(name=f"battles-{seed}", n_matches=n, seed=seed)
    return schedule_tournament(plan, leaderboard=board, agents=agents)


def _wait(tournament: Any) -> None:
    from matches.models import Tournament  # noqa: PLC0415

    deadline = time.monotonic() + LIMIT_S
    rows = Tournament.objects.filter(pk=tournament.pk)
    while rows.get().state not in {Tournament.State.DONE, Tournament.State.CANCELLED}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the battles took more than {LIMIT_S:g} s")
        time.sleep(POLL_S)


def _collected(
    tournament: Any,
    agents: Sequence[Any],
    wall_s: float,
    cpu_s: dict[str, float],
    counts: dict[str, float],
) -> OnStack:
    from matches.models.match import parse_numbers  # noqa: PLC0415

    place = {agent.pk: number for number, agent in enumerate(agents)}
    battles, ended = list[Battle](), list[list[int]]()
    for match in tournament.matches.select_related("outcome").order_by("sequence"):
        first, second = (place[agent] for agent in match.agent_ids)
        battles.append(Battle(match.game_seed, (first, second)))
        ended.append(parse_numbers(match.outcome.ranks))
    return OnStack(battles, ended, wins_of(battles, ended), wall_s, cpu_s, counts)
