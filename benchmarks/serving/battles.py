"""The 500-battle benchmark: the stack against a copy of both networks per worker.

Both play the matches that the stack has planned, with the same seeds and randomness. The workers
differ only in where the networks run.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arena.games import registry as games
from arena.games.base import OVER, ranks
from arena.policies import registry as policies
from arena.policies.base import Row
from arena.policies.network_policy import NetworkPolicy
from benchmarks import stacks
from benchmarks.networks import (
    Copy,
    Size,
    Spell,
    add_checkpoint,
    await_checkpoints,
    busy_seconds,
    write_checkpoint,
)
from benchmarks.serving.load import Pool
from benchmarks.serving.servers import find_free_port, read_metrics

GAME = "connect_four"
N_WORKERS = 10
N_SEATS = 2
TEMPERATURE = 4.0  # games of some length, as trained networks play them
LIMIT_S = 1_800.0
WARMING = 10 * N_WORKERS
N_THREADS = 2
# A second one, with a shard of its own, takes the other core: less time, but smaller batches.
N_GPUS = 1


class Battle(NamedTuple):
    """One match: its seed, and which of the two networks sits in each seat."""

    game_seed: int
    seats: tuple[int, int]


class Played(NamedTuple):
    """What the stack, all workers or one of them played: ranks by battle and seat, and its cost."""

    battles: Sequence[Battle]
    ranks: list[list[int]]
    wall_s: float
    cpu_s: float
    n_loads: int = 0
    # When forwards of copies ran.
    spells: Sequence[Spell] = ()

    def count_wins(self) -> dict[str, int]:
        wins: Counter[int] = Counter()
        for battle, (first, second) in zip(self.battles, self.ranks, strict=True):
            wins[-1 if first == second else battle.seats[int(first > second)]] += 1
        return {"first": wins[0], "second": wins[1], "draws": wins[-1]}


def play_battles(battles: Sequence[Battle], networks: Sequence[Copy]) -> list[list[int]]:
    """Play in lockstep, both networks asked before one is waited for; return ranks by seat."""
    game, seated = games.get(GAME), []
    for network in networks:
        policy = policies.get("network").build(game, {"temperature": TEMPERATURE})
        assert isinstance(policy, NetworkPolicy)
        policy.attach(network)
        seated.append(policy)
    plies = game.spec.opening_plies
    states = [game.start(battle.game_seed, opening_plies=plies) for battle in battles]
    while True:
        due: list[list[Row]] = [[] for _ in networks]
        for battle, state in zip(battles, states, strict=True):
            if (seat := state.to_move()) != OVER:
                due[battle.seats[seat]].append(Row(state, seat, battle.game_seed))
        if not any(due):
            return [ranks(state.returns(), N_SEATS) for state in states]
        # First all questions, then the answers: so two networks are busy at once.
        questions = [policy.ask(rows) for policy, rows in zip(seated, due, strict=True)]
        for policy, question, rows in zip(seated, questions, due, strict=True):
            for row, action in zip(rows, policy.decide(question).actions, strict=True):
                row.state.apply(action)


def run_workers(
    battles: Sequence[Battle], paths: Sequence[Path], *, n_workers: int = N_WORKERS
) -> Played:
    """Play the battles, an equal part by each worker; the clock runs from the first model load.

    The start of the interpreters and their imports are not counted, on neither side.
    """
    pool = Pool(n_workers)
    pool.end(pool.begin(play_share, [((), ())] * n_workers))
    began = time.monotonic()
    # Every tenth one, so that the parts are about equal in length.
    parts = [(battles[number::n_workers], paths) for number in range(n_workers)]
    shares: list[Played] = pool.end(pool.begin(play_share, parts))
    wall_s = time.monotonic() - began
    pool.close()
    return Played(
        battles,
        [shares[n % n_workers].ranks[n // n_workers] for n in range(len(battles))],
        wall_s,
        sum(share.cpu_s for share in shares),
        sum(share.n_loads for share in shares),
        [spell for share in shares for spell in share.spells],
    )


def play_share(battles: Sequence[Battle], paths: Sequence[Path]) -> Played:
    """Play with copies of the networks for itself, asked row by row: what a worker does."""
    games.get(GAME).start(0, opening_plies=0)  # OpenSpiel loads what it needs
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    copies = [Copy(path) for path in paths]
    ended = play_battles(battles, copies)
    cpu_s, spells = time.process_time() - began_cpu_s, [s for copy in copies for s in copy.spells]
    return Played(battles, ended, time.monotonic() - began_s, cpu_s, len(copies), spells)


class OnStack(NamedTuple):
    """What the stack played, the CPU seconds of each program and what its gpu workers counted."""

    played: Played
    cpu_s: dict[str, float]
    counts: dict[str, float]


def run_on_stack(n: int, two: Sequence[Path]) -> OnStack:
    """Play on the real stack: web, relay, ten play slots, one gpu worker, ratings."""
    port = find_free_port()
    settings = {
        "EVALSITE_DETERMINISTIC": "1",
        "EVALSITE_METRICS_PORT": str(port),
        "EVALSITE_SHARDS": str(N_GPUS),
        # The copies use every core too.
        "EVALSITE_THREADS": str(N_THREADS),
    }
    shape = {"nodes": 1, "slots": N_WORKERS, "gpus": N_GPUS, "web": True, "settings": settings}
    with stacks.private_stack(**shape) as stack:  # type: ignore[arg-type]
        from matches.models import Agent  # noqa: PLC0415 - Django is set up only now

        agents = [add_checkpoint(path, name=f"network-{i}") for i, path in enumerate(two)]
        await_checkpoints()
        Agent.objects.update(parameters={"temperature": TEMPERATURE})

        def play_tournament(n_matches: int, seed: int) -> Any:
            board = stacks.open_board(f"battles-{seed}", GAME)
            tournament = stacks.schedule_agents(board, agents, n_matches, seed=seed)
            return stacks.await_tournament(tournament, limit_s=LIMIT_S)

        play_tournament(WARMING, seed=1)  # imports are not counted on the other side either
        used, before = stacks.cpu_seconds(stack), read_metrics(port, N_GPUS)
        began = time.monotonic()
        tournament = play_tournament(n, seed=0)
        wall_s = time.monotonic() - began
        cpu_s = {name: s - used.get(name, 0.0) for name, s in stacks.cpu_seconds(stack).items()}
        now = read_metrics(port, N_GPUS)
        counts = {name: value - before.get(name, 0.0) for name, value in now.items()}
        # Models are loaded once, while it warms up.
        counts["models_loaded"] = now.get("models_loaded", 0.0)
        battles, ended = read_battles(tournament, [agent.pk for agent in agents])
    return OnStack(Played(battles, ended, wall_s, sum(cpu_s.values())), cpu_s, counts)


def read_battles(tournament: Any, agents: list[int]) -> tuple[list[Battle], list[list[int]]]:
    """Return the battles of a tournament and the ranks by seat, in planned order."""
    from matches.models.match import parse_numbers  # noqa: PLC0415

    battles, ended = [], []
    for match in tournament.matches.select_related("outcome").order_by("sequence"):
        first, second = map(agents.index, match.agent_ids)
        battles.append(Battle(match.game_seed, (first, second)))
        ended.append(parse_numbers(match.outcome.ranks))
    return battles, ended


def measure(size: Size, n: int, folder: Path) -> dict[str, Any]:
    """Play n battles in both ways in deterministic mode; return what each took."""
    seal = size.seal_for_game(GAME)
    two = [write_checkpoint(seal, folder / "cache", seed=seed).path for seed in (1, 2)]
    stack = run_on_stack(n, two)
    ours, counts = stack.played, stack.counts
    copies = run_workers(ours.battles, two)
    wins = {"ours": ours.count_wins(), "copies": copies.count_wins()}
    service_s = counts["inference_service_seconds_sum"]
    return {
        "network": size.name,
        "battles": n,
        "workers": N_WORKERS,
        "ours_s": ours.wall_s,
        "copies_s": copies.wall_s,
        "ratio": copies.wall_s / ours.wall_s,
        "ours_cpu_s": ours.cpu_s,
        "copies_cpu_s": copies.cpu_s,
        "cpu_ratio": copies.cpu_s / ours.cpu_s,
        "ours_cpu_by_program_s": stack.cpu_s,
        "wins": wins,
        "wins_equal": wins["ours"] == wins["copies"],
        "outcomes_equal": ours.ranks == copies.ranks,
        "loads_ours": round(counts["models_loaded"]),
        "loads_copies": copies.n_loads,
        "loads_per_checkpoint_ours": round(counts["models_loaded"]) / len(two),
        "rows_per_forward_ours": counts["rows"] / counts["forwards"],
        "rows_per_forward_copies": 1.0,
        "gpu_workers": N_GPUS,
        "utilisation_ours": service_s / (ours.wall_s * N_GPUS),
        "utilisation_copies": busy_seconds(copies.spells) / copies.wall_s,
    }
