"""Build what an order names: the game, its agents and the faults to emulate."""

from collections.abc import Callable
from dataclasses import dataclass

from arena.faults import Charge, FaultPlan
from arena.games import registry as games
from arena.games.base import Game, GameSpec
from arena.messages import AgentOrder, FaultRates
from arena.policies import registry as policies
from arena.policies.base import Policy, PolicyKind
from workers.beacon import MAX_SEATS
from workers.errors import WorkerError
from workers.recorder import Recorder
from workers.wire import Prepare


class OrderError(WorkerError):
    """This node cannot play an order."""


def no_recorder(prepare: Prepare, game: Game) -> Recorder:
    """Refuse an order whose trajectories are to be stored. Raises OrderError."""
    del prepare
    raise OrderError(f"{game.spec.id}: this player stores no trajectories")


@dataclass(frozen=True)
class Catalogs:
    """Where games and policy kinds are looked up by name, and who keeps trajectories."""

    game: Callable[[str], Game] = games.get
    policy: Callable[[str], PolicyKind] = policies.get
    recorder: Callable[[Prepare, Game], Recorder] = no_recorder


@dataclass(frozen=True)
class Agent:
    """One agent of an order, built for its game."""

    policy: Policy
    is_batched: bool
    identity: str = ""
    """Its kind, parameters and checkpoint as text: the same on every node and in every order."""
    checkpoint: str = ""
    is_remote: bool = False
    """Its network answers from the gpu queue: meanwhile other matches can be stepped."""


@dataclass(frozen=True)
class Setup:
    """Everything that the matches of one order share."""

    game: Game
    spec: GameSpec
    opening_plies: int
    agents: tuple[Agent, ...]
    faults: FaultPlan | None
    recorder: Recorder | None = None

    @property
    def is_batched(self) -> bool:
        """True when some agent decides rows together."""
        return any(agent.is_batched for agent in self.agents)


def build(prepare: Prepare, catalogs: Catalogs) -> Setup:
    """Return the setup of an order.

    Raises ArenaError for what the catalogs refuse, OrderError for what this node cannot play.
    """
    game = catalogs.game(prepare.game).configured(prepare.game_parameters)
    spec = game.spec
    _check_rules(spec, prepare.rules_version)
    return Setup(
        game=game,
        spec=spec,
        opening_plies=prepare.opening_plies,
        agents=tuple(_agent(game, order, catalogs) for order in prepare.agents),
        faults=None if prepare.faults is None else _plan(prepare.faults),
        recorder=catalogs.recorder(prepare, game) if prepare.trajectories else None,
    )


def _check_rules(spec: GameSpec, wanted: int) -> None:
    if spec.rules_version != wanted:
        raise OrderError(
            f"{spec.id}: this node plays rules version {spec.rules_version}, the order asks for "
            f"{wanted}: install the same version of evalsite on control and on this node"
        )
    if not 1 <= spec.n_seats <= MAX_SEATS:
        raise OrderError(f"{spec.id}: n_seats={spec.n_seats}: must be 1..{MAX_SEATS}")


def _agent(game: Game, order: AgentOrder, catalogs: Catalogs) -> Agent:
    kind = catalogs.policy(order.policy)
    if order.placement != "local":
        raise OrderError(f"{order.policy}: placement {order.placement!r}: this node offers local")
    identity = repr((order.policy, sorted(order.parameters.items()), order.checkpoint))
    return Agent(
        kind.build(game, order.parameters), kind.is_batched, identity, checkpoint=order.checkpoint
    )


def _plan(rates: FaultRates) -> FaultPlan:
    if rates.charge not in set(Charge):
        raise OrderError(f"faults: charge={rates.charge!r}: choose one of {', '.join(Charge)}")
    return FaultPlan(
        error_rate=rates.error_rate,
        invalid_rate=rates.invalid_rate,
        hang_rate=rates.hang_rate,
        hang_s=rates.hang_s,
        charge=Charge(rates.charge),
    )
