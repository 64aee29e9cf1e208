"""Build what an order names: the game, its agents and the faults to emulate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random, SystemRandom

from arena.fault_injection import Charge, FaultPlan
from arena.games import registry as games
from arena.games.base import CHILD, Game, GameSpec, State
from arena.games.served import CHECKED_SHARE, Line, ServedGame
from arena.messages import AgentOrder, ServerLink
from arena.policies import registry as policies
from arena.policies.base import Policy, PolicyKind
from arena.policies.line_policy import AgentLine, LinePolicy
from arena.policies.network_policy import Network, NetworkPolicy
from workers.current_call import MAX_SEATS
from workers.errors import OrderError
from workers.recorder import Recorder
from workers.wire import Assignment, Prepare

# Where the network of an agent runs: in its player, or behind the gpu queue.
LOCAL, GPU = "local", "gpu"


def refuse_network(order: AgentOrder, spec: GameSpec) -> Network:
    """Refuse an agent that needs a network. Raises OrderError."""
    raise OrderError(f"{order.policy}: this player asks no networks for {spec.id}")


def refuse_agent_line(policy: LinePolicy) -> AgentLine:
    """Refuse an agent whose decisions come over a line. Raises OrderError."""
    raise OrderError(f"program {policy.program!r}: this player opens no lines")


def refuse_recorder(prepare: Prepare, game: Game) -> Recorder:
    """Refuse an order whose trajectories are kept. Raises OrderError."""
    raise OrderError(f"{game.spec.id}: this player keeps no trajectories for {prepare.serial}")


def refuse_lines(game: ServedGame, servers: Sequence[ServerLink]) -> Sequence[Line]:
    """Refuse a game that is played elsewhere. Raises OrderError."""
    raise OrderError(f"{game.spec.id}: this player has no lines to {len(servers)} game servers")


@dataclass(frozen=True)
class Catalogs:
    """Where games and policy kinds are looked up by name, networks, lines and recorders opened."""

    game: Callable[[str], Game] = games.get
    policy: Callable[[str], PolicyKind] = policies.get
    network: Callable[[AgentOrder, GameSpec], Network] = refuse_network
    agent_line: Callable[[LinePolicy], AgentLine] = refuse_agent_line
    recorder: Callable[[Prepare, Game], Recorder] = refuse_recorder
    lines: Callable[[ServedGame, Sequence[ServerLink]], Sequence[Line]] = refuse_lines
    game_version: Callable[[str], str] = games.version
    policy_version: Callable[[str], str] = policies.version


@dataclass(frozen=True)
class Agent:
    """One agent of an order, built for its game."""

    policy: Policy
    is_batched: bool
    # Its kind, parameters and checkpoint as text: the same on every node and in every order.
    identity: str = ""
    checkpoint: str = ""
    # Its network answers from the gpu queue: meanwhile other matches can be stepped.
    is_remote: bool = False


@dataclass(frozen=True)
class Setup:
    """Everything that the matches of one order share."""

    game: Game
    spec: GameSpec
    opening_plies: int
    agents: tuple[Agent, ...]
    faults: FaultPlan | None
    recorder: Recorder | None = None
    # Of a game that is played elsewhere: to its child process, or by server of the order.
    lines: Sequence[Line] = ()
    # Which episodes are compared with our own rules: a server that knew would tell the truth there.
    rng: Random = field(default_factory=SystemRandom)

    @property
    def is_batched(self) -> bool:
        """True when matches advance together: some agent decides rows, or a server plays many."""
        return bool(self.lines) or any(agent.is_batched for agent in self.agents)

    @property
    def game_command(self) -> list[str]:
        """The command of the child process that plays the game; empty where none does."""
        return list(self.game.command) if isinstance(self.game, ServedGame) else []

    def start_episode(self, assignment: Assignment) -> State:
        """Return the state of a match that begins, or that goes on elsewhere from its actions."""
        plies = self.opening_plies
        if not isinstance(self.game, ServedGame):
            return self.game.start(assignment.game_seed, opening_plies=plies)
        if assignment.server >= len(self.lines):
            raise OrderError(f"server {assignment.server} of {len(self.lines)} in the order")
        return self.game.start_on(
            self.lines[assignment.server],
            assignment.game_seed,
            opening_plies=plies,
            actions=assignment.actions,
            is_checked=self.rng.random() < CHECKED_SHARE,
        )

    def end_programs(self) -> None:
        """End the programs of its agents."""
        for agent in self.agents:
            if isinstance(agent.policy, LinePolicy):
                agent.policy.line.close()


def build_setup(prepare: Prepare, catalogs: Catalogs) -> Setup:
    """Return the setup of an order.

    Raises ArenaError for what the catalogs refuse, OrderError for what this node cannot play.
    """
    game = catalogs.game(prepare.game).configured(prepare.game_parameters)
    _check_versions(game.spec, prepare, catalogs)
    rates, faults = prepare.faults, None
    if rates is not None:
        if rates.charge not in set(Charge):
            raise OrderError(f"faults: charge={rates.charge!r}: choose one of {', '.join(Charge)}")
        faults = FaultPlan(
            error_rate=rates.error_rate,
            invalid_rate=rates.invalid_rate,
            hang_rate=rates.hang_rate,
            hang_s=rates.hang_s,
            charge=Charge(rates.charge),
        )
    return Setup(
        game=game,
        spec=game.spec,
        opening_plies=prepare.opening_plies,
        agents=tuple(_build_agent(game, order, catalogs) for order in prepare.agents),
        faults=faults,
        recorder=catalogs.recorder(prepare, game) if prepare.trajectories else None,
        lines=_open_lines(game, prepare.servers, catalogs),
    )


def _open_lines(game: Game, servers: Sequence[ServerLink], catalogs: Catalogs) -> Sequence[Line]:
    if not isinstance(game, ServedGame):
        return ()
    if not servers and game.spec.served != CHILD:
        raise OrderError(f"{game.spec.id} is played by game servers: the order names none")
    return catalogs.lines(game, servers)


def _check_versions(spec: GameSpec, prepare: Prepare, catalogs: Catalogs) -> None:
    """Refuse an order of other code than this node has: its results would be of something else.

    Raises OrderError. Of an agent the policy kind is compared, which comes before the plus: its
    architecture is loaded where its network runs.
    """
    if spec.rules_version != prepare.rules_version:
        raise OrderError(
            f"{spec.id}: this node plays rules version {spec.rules_version}, the order asks for "
            f"{prepare.rules_version}: install the same version of evalsite on control and on this "
            "node"
        )
    # A seat must fit into its 8 bits of the call memory.
    if not 1 <= spec.n_seats <= MAX_SEATS:
        raise OrderError(f"{spec.id}: n_seats={spec.n_seats}: must be 1..{MAX_SEATS}")
    ordered = [("game", prepare.game, prepare.game_version, catalogs.game_version)]
    ordered += [
        ("policy", agent.policy, agent.version.partition("+")[0], catalogs.policy_version)
        for agent in prepare.agents
    ]
    for family, name, version, find_version in ordered:
        if version and version != (own_version := find_version(name)):
            raise OrderError(
                f"{family} {name!r}: this node has version {own_version:.12}, the order asks for "
                f"{version:.12}: put the same plug-ins on control and on this node, then start both"
            )


def _build_agent(game: Game, order: AgentOrder, catalogs: Catalogs) -> Agent:
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
    elif isinstance(policy, LinePolicy):
        policy.attach(catalogs.agent_line(policy))
        policy.prepare()
    return Agent(
        policy,
        kind.is_batched,
        identity=repr((order.policy, sorted(order.parameters.items()), order.checkpoint)),
        checkpoint=order.checkpoint,
        is_remote=order.placement == GPU,
    )
