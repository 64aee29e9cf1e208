"""Build what an order names: the game, its agents and the faults to emulate."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from arena.fault_injection import Charge, FaultPlan
from arena.games import registry as games
from arena.games.base import Game, GameSpec
from arena.messages import AgentOrder, FaultRates
from arena.policies import registry as policies
from arena.policies.base import Policy, PolicyKind
from arena.policies.network_policy import Network, NetworkPolicy
from workers.current_call import MAX_SEATS
from workers.errors import WorkerError
from workers.recorder import Recorder
from workers.wire import Prepare

LOCAL, GPU = "local", "gpu"
"""Where the network of an agent runs: in its player, or behind the gpu queue."""


class OrderError(WorkerError):
    """This node cannot play an order."""


def no_network(order: AgentOrder, spec: GameSpec) -> Network:
    """Refuse an agent that needs a network. Raises OrderError."""
    raise OrderError(f"{order.policy}: this player asks no networks for {spec.id}")


def open_recorder(prepare: Prepare, game: Game) -> Recorder:
    """Return who keeps the trajectories of an order. Raises OrderError."""
    # Imported only for such an order: it takes each player some 50 MB.
    recorder: Recorder = import_module("workers.trajectory_recorder").open_recorder(prepare, game)
    return recorder


@dataclass(frozen=True)
class Catalogs:
    """Where games and policy kinds are looked up by name, networks and recorders opened."""

    game: Callable[[str], Game] = games.get
    policy: Callable[[str], PolicyKind] = policies.get
    network: Callable[[AgentOrder, GameSpec], Network] = no_network
    recorder: Callable[[Prepare, Game], Recorder] = open_recorder
    game_version: Callable[[str], str] = games.version
    policy_version: Callable[[str], str] = policies.version


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
    _check_code(prepare, catalogs)
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


def _check_code(prepare: Prepare, catalogs: Catalogs) -> None:
    """Refuse an order of other code than this node has: its results would be of something else.

    Raises OrderError. Of an agent the policy kind is compared, which comes before the plus: its
    architecture is loaded where its network runs.
    """
    asked = [("game", prepare.game, prepare.game_version, catalogs.game_version)]
    asked += [
        ("policy", agent.policy, agent.version.partition("+")[0], catalogs.policy_version)
        for agent in prepare.agents
    ]
    for family, name, version, here in asked:
        if version and version != here(name):
            raise OrderError(
                f"{family} {name!r}: this node has version {here(name):.12}, the order asks for "
                f"{version:.12}: put the same plug-ins on control and on this node, then start both"
            )


def _agent(game: Game, order: AgentOrder, catalogs: Catalogs) -> Agent:
    kind = catalogs.policy(order.policy)
    policy = kind.build(game, order.parameters)
    is_network = isinstance(policy, NetworkPolicy)
    if is_network != bool(order.checkpoint):
        has = "needs a checkpoint" if is_network else "takes no checkpoint"
        raise OrderError(f"{order.policy}: {has}")
    offered = (LOCAL, GPU) if is_network else (LOCAL,)
    if order.placement not in offered:
        raise OrderError(
            f"{order.policy}: placement {order.placement!r}: choose one of {', '.join(offered)}"
        )
    if isinstance(policy, NetworkPolicy):
        policy.attach(catalogs.network(order, game.spec))
    return Agent(
        policy,
        kind.is_batched,
        identity=repr((order.policy, sorted(order.parameters.items()), order.checkpoint)),
        checkpoint=order.checkpoint,
        is_remote=order.placement == GPU,
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
