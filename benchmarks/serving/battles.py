"""The 500-battle benchmark: the stack against a copy of both networks per worker.

All play the matches that the stack has planned, with the same seeds and randomness: on the stack,
by clients of the queue alone, and with copies. The workers differ only in where the networks run.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from arena.games import registry as games
from arena.games.base import OVER, ranks
from arena.policies import registry as policies
from arena.policies.base import Row
from arena.policies.network_policy import Network, NetworkPolicy
from arena.seeding import derive
from benchmarks import stacks
from benchmarks.networks import (
    Checkpoint,
    Copy,
    Size,
    Spell,
    add_checkpoint,
    await_checkpoints,
    busy_seconds,
    write_checkpoint,
)
from benchmarks.serving.load import make_context
from benchmarks.serving.servers import connect_queue, find_free_port, read_metrics, run_ours
from inference.client import RemoteNetwork

GAME = "connect_four"
N_WORKERS = 10
N_SEATS = 2
TEMPERATURE = 4.0  # games of some length, as trained networks play them
EXACT = {"EVALSITE_DETERMINISTIC": "1"}
LIMIT_S = 1_800.0
WARMING = 10 * N_WORKERS
N_THREADS = 2
# A second one, with a shard of its own, takes the other core: less time, but smaller batches.
N_GPUS = 1


class Battle(NamedTuple):
    """One match: its seed, and which of the two networks sits in each seat."""

    game_seed: int
    seats: tuple[int, int]


# Connects or loads the two networks, in the process of the worker; it must pickle.
NetworkMaker = Callable[[], Sequence[Network]]


class Share(NamedTuple):
    """What one worker did: ranks by battle and seat, and what that cost."""

    ranks: list[list[int]]
    cpu_s: float
    n_loads: int
    spells: list[Spell]


class Played(NamedTuple):
    """All battles: ranks by seat, and what they cost the workers; the forwards of their copies."""

    battles: Sequence[Battle]
    ranks: list[list[int]]
    wall_s: float
    cpu_s: float
    n_loads: int
    spells: list[Spell]

    def count_wins(self) -> dict[str, int]:
        """Return how often each network won."""
        wins: Counter[int] = Counter()
        for battle, (first, second) in zip(self.battles, self.ranks, strict=True):
            wins[-1 if first == second else battle.seats[int(first > second)]] += 1
        return {"first": wins[0], "second": wins[1], "draws": wins[-1]}


def draw_battles(n: int, *, seed: int) -> list[Battle]:
    """Return n battles; two after each other have one seed and change seats."""
    return [
        Battle(derive("battle", seed, number // 2), ((0, 1), (1, 0))[number % 2])
        for number in range(n)
    ]


def play_battles(battles: Sequence[Battle], networks: Sequence[Network]) -> list[list[int]]:
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
        asked = [policy.ask(rows) for policy, rows in zip(seated, due, strict=True)]
        for policy, question, rows in zip(seated, asked, due, strict=True):
            for row, action in zip(rows, policy.decide(question).actions, strict=True):
                row.state.apply(action)


def run_workers(
    battles: Sequence[Battle], make: NetworkMaker, *, n_workers: int = N_WORKERS
) -> Played:
    """Play the battles, an equal part by each worker; the clock runs from the first model load.

    The start of the interpreters and their imports are not counted, on neither side.
    """
    context = make_context()
    workers, pipes = [], []
    for number in range(n_workers):
        ours, theirs = context.Pipe()
        # Every tenth one, so that the parts are about equal in length.
        share = battles[number::n_workers]
        worker = context.Process(target=play_share, args=(share, make, theirs), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()
    began = time.monotonic()
    for pipe in pipes:
        pipe.send("play")
    shares: list[Share] = [pipe.recv() for pipe in pipes]
    wall_s = time.monotonic() - began
    for worker in workers:
        worker.join()
    return Played(
        battles,
        [shares[n % n_workers].ranks[n // n_workers] for n in range(len(battles))],
        wall_s,
        sum(share.cpu_s for share in shares),
        sum(share.n_loads for share in shares),
        [spell for share in shares for spell in share.spells],
    )


def play_share(battles: Sequence[Battle], make: NetworkMaker, orders: Connection) -> None:
    """Play as soon as it is told to: this is the process of a worker."""
    games.get(GAME).start(0, opening_plies=0)  # OpenSpiel loads what it needs
    orders.send("ready")
    orders.recv()
    began_s = time.process_time()
    networks = make()
    ended = play_battles(battles, networks)
    copies = [network for network in networks if isinstance(network, Copy)]
    spells = [spell for copy in copies for spell in copy.spells]
    orders.send(Share(ended, time.process_time() - began_s, len(copies), spells))


def load_copies(checkpoints: Sequence[Checkpoint]) -> Sequence[Network]:
    """Give a worker both networks for itself, to be asked row by row."""
    return [Copy(one.path) for one in checkpoints]


def connect_remote(
    environment: Mapping[str, str], checkpoints: Sequence[Checkpoint]
) -> Sequence[Network]:
    """Connect a worker to the queue, to play without a stack around."""
    client = connect_queue(environment)
    return [RemoteNetwork(client, one.ref, 0) for one in checkpoints]


class OnStack(NamedTuple):
    """What the stack played, the CPU seconds of each program and what its gpu workers counted."""

    played: Played
    cpu_s: dict[str, float]
    counts: dict[str, float]


def run_on_stack(n: int, two: Sequence[Checkpoint]) -> OnStack:
    """Play on the real stack: web, relay, ten play slots, one gpu worker, ratings."""
    port = find_free_port()
    settings = {
        **EXACT,
        "EVALSITE_METRICS_PORT": str(port),
        "EVALSITE_SHARDS": str(N_GPUS),
        # The copies use every core too.
        "EVALSITE_THREADS": str(N_THREADS),
    }
    shape = {"nodes": 1, "slots": N_WORKERS, "gpus": N_GPUS, "web": True, "settings": settings}
    with stacks.private_stack(**shape) as stack:  # type: ignore[arg-type]
        from matches.models import Agent  # noqa: PLC0415 - Django is set up only now

        agents = [add_checkpoint(one.path, name=f"network-{i}") for i, one in enumerate(two)]
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
    return OnStack(Played(battles, ended, wall_s, sum(cpu_s.values()), 0, []), cpu_s, counts)


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
    """Play n battles thrice in deterministic mode; return what each way took."""
    seal = size.seal_for_game(GAME)
    two = [write_checkpoint(seal, folder / "cache", seed=seed) for seed in (1, 2)]
    stack = run_on_stack(n, two)
    ours, counts = stack.played, stack.counts
    with run_ours(folder / "clients", folder / "cache", EXACT) as queue:
        before_s = queue.served.cpu_s()
        clients = run_workers(ours.battles, partial(connect_remote, queue.environment, two))
        clients_cpu_s = clients.cpu_s + queue.served.cpu_s() - before_s
    copies = run_workers(ours.battles, partial(load_copies, two))
    wins = {"ours": ours.count_wins(), "clients": clients.count_wins()}
    wins["copies"] = copies.count_wins()
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
        "clients_s": clients.wall_s,
        "clients_cpu_s": clients_cpu_s,
        "clients_ratio": copies.wall_s / clients.wall_s,
        "clients_cpu_ratio": copies.cpu_s / clients_cpu_s,
        "wins": wins,
        "wins_equal": wins["ours"] == wins["copies"] == wins["clients"],
        "outcomes_equal": ours.ranks == copies.ranks == clients.ranks,
        "loads_ours": round(counts["models_loaded"]),
        "loads_copies": copies.n_loads,
        "loads_per_checkpoint_ours": round(counts["models_loaded"]) / len(two),
        "rows_per_forward_ours": counts["rows"] / counts["forwards"],
        "rows_per_forward_copies": 1.0,
        "gpu_workers": N_GPUS,
        "utilisation_ours": service_s / (ours.wall_s * N_GPUS),
        "utilisation_copies": busy_seconds(copies.spells) / copies.wall_s,
    }
