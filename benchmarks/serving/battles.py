"""Matches between two networks by ten workers that differ only in where the networks run."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple, Protocol

from arena.games import registry as games
from arena.games.base import OVER, Game, ranks
from arena.policies import registry as policies
from arena.policies.base import Row
from arena.policies.network_policy import Network, NetworkPolicy
from arena.seeding import derive
from benchmarks.serving.processes import context

GAME = "connect_four"
N_WORKERS = 10
N_SEATS = 2
TEMPERATURE = 4.0  # games of some length, as trained networks play them


class Battle(NamedTuple):
    """One match: its seed, and which of the two networks sits in each seat."""

    game_seed: int
    seats: tuple[int, int]


class Spell(NamedTuple):
    """When a forward ran, on the clock that all processes share."""

    began: float
    ended: float


class Side(Protocol):
    """The two networks of one worker, and what they have cost it."""

    networks: Sequence[Network]
    n_loads: int
    spells: list[Spell]


SideMaker = Callable[[], Side]
"""Connects or loads, in the process of the worker; it must pickle."""


class Share(NamedTuple):
    """What one worker did: ranks by battle and seat, and what that cost."""

    ranks: list[list[int]]
    cpu_s: float
    n_loads: int
    spells: list[Spell]


class Played(NamedTuple):
    """All battles: ranks, the wins of the networks (draws as -1), what they cost the workers."""

    ranks: list[list[int]]
    wins: Counter[int]
    wall_s: float
    cpu_s: float
    n_loads: int
    spells: list[Spell]


def battles_of(n: int, *, seed: int) -> list[Battle]:
    """Return n battles; two after each other have one seed and change seats."""
    return [
        Battle(derive("battle", seed, number // 2), ((0, 1), (1, 0))[number % 2])
        for number in range(n)
    ]


class Live:
    """A battle in play."""

    def __init__(self, game: Game, battle: Battle) -> None:
        self._battle = battle
        self.state = game.start(battle.game_seed, opening_plies=game.spec.opening_plies)

    @property
    def network(self) -> int:
        """Return which network decides next, or OVER."""
        seat = self.state.to_move()
        return OVER if seat == OVER else self._battle.seats[seat]

    def row(self) -> Row:
        """Return the decision that is due."""
        return Row(self.state, self.state.to_move(), self._battle.game_seed)


def play(battles: Sequence[Battle], networks: Sequence[Network]) -> list[list[int]]:
    """Play in lockstep, both networks asked before one is waited for; return ranks by seat."""
    game = games.get(GAME)
    seated = [_policy(game, network) for network in networks]
    played = [Live(game, battle) for battle in battles]
    live = played
    while live:
        _step(live, seated)
        live = [one for one in live if one.network != OVER]
    return [ranks(one.state.returns(), N_SEATS) for one in played]


def _policy(game: Game, network: Network) -> NetworkPolicy:
    policy = policies.get("network").build(game, {"temperature": TEMPERATURE})
    if not isinstance(policy, NetworkPolicy):
        raise TypeError("the policy kind 'network' builds something else")
    policy.attach(network)
    return policy


def _step(live: Sequence[Live], seated: Sequence[NetworkPolicy]) -> None:
    by_network = [[one for one in live if one.network == number] for number in range(len(seated))]
    asked = [
        policy.ask([one.row() for one in due])
        for policy, due in zip(seated, by_network, strict=True)
    ]
    for policy, question, due in zip(seated, asked, by_network, strict=True):
        for one, action in zip(due, policy.decide(question).actions, strict=True):
            one.state.apply(action)


def run(battles: Sequence[Battle], make: SideMaker, *, n_workers: int = N_WORKERS) -> Played:
    """Play the battles, an equal part by each worker; the clock runs from the first model load.

    The start of the interpreters and their imports are not counted, on neither side.
    """
    forking = context()
    pipes = [forking.Pipe() for _ in range(n_workers)]
    workers = [
        forking.Process(target=_work, args=(battles[number::n_workers], make, theirs), daemon=True)
        for number, (_, theirs) in enumerate(pipes)
    ]
    for worker, (_, theirs) in zip(workers, pipes, strict=True):
        worker.start()
        theirs.close()
    for ours, _ in pipes:
        ours.recv()
    began = time.monotonic()
    for ours, _ in pipes:
        ours.send("play")
    shares: list[Share] = [ours.recv() for ours, _ in pipes]
    wall_s = time.monotonic() - began
    for worker in workers:
        worker.join()
    return _together(battles, shares, wall_s)


def _work(battles: Sequence[Battle], make: SideMaker, orders: Connection) -> None:
    games.get(GAME).start(0, opening_plies=0)  # OpenSpiel loads what it needs
    orders.send("ready")
    orders.recv()
    cpu_s = time.process_time()
    side = make()
    ended = play(battles, side.networks)
    orders.send(Share(ended, time.process_time() - cpu_s, side.n_loads, side.spells))


def _together(battles: Sequence[Battle], shares: Sequence[Share], wall_s: float) -> Played:
    n = len(shares)
    ended = [shares[number % n].ranks[number // n] for number in range(len(battles))]
    return Played(
        ended,
        wins_of(battles, ended),
        wall_s,
        sum(share.cpu_s for share in shares),
        sum(share.n_loads for share in shares),
        [spell for share in shares for spell in share.spells],
    )


def wins_of(battles: Sequence[Battle], ended: Sequence[Sequence[int]]) -> Counter[int]:
    """Return how often each network won; -1 counts the draws."""
    return Counter(winner(*one) for one in zip(battles, ended, strict=True))


def winner(battle: Battle, ranks: Sequence[int]) -> int:
    """Return which network won, -1 for a draw."""
    return -1 if ranks[0] == ranks[1] else battle.seats[ranks.index(0)]


def busy_s(spells: Sequence[Spell]) -> float:
    """Return the seconds in which at least one forward ran."""
    total, reached = 0.0, float("-inf")
    for began, ended in sorted(spells):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total
