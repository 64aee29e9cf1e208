"""Matches played in this process, without any server: `arena.play`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arena.errors import ArenaError, IllegalActionError
from arena.games import registry as games
from arena.games.base import OVER, Game, GameSpec, forfeit_ranks, ranks
from arena.games.positions import check_position
from arena.pairing import registry as pairings
from arena.pairing.base import Field, Lineup, count_blocks, rotate_seats
from arena.policies import registry as policies
from arena.policies.base import Policy, Row
from arena.policies.callables import Act, CallablePolicy
from arena.policies.spec import parse_policy
from arena.seeding import derive

# Matches that go on together, so that policies see blocks of rows.
N_TOGETHER = 1_000
PAIRING = "double_round_robin"

# A policy as the command line spells it, one that is built, or a function of what a seat sees.
Agent = str | Policy | Act


@dataclass(frozen=True)
class PlayedMatch:
    """A match that is over.

    lineup: names of agents by seat. ranks: by seat, 0 the best. returns: by seat, empty after a
    forfeit. With the game seed the actions replay it. guilty_seat: which seat failed and has lost
    by that, else None; problem: how it failed.
    """

    lineup: tuple[str, ...]
    game_seed: int
    actions: tuple[int, ...]
    ranks: tuple[int, ...]
    returns: tuple[float, ...] = ()
    guilty_seat: int | None = None
    problem: str = ""


def play(
    game: str | Game, agents: Mapping[str, Agent] | Sequence[str], n: int, seed: int
) -> list[PlayedMatch]:
    """Play n matches, rounded up to whole blocks: every agent once in every seat of an opening.

    In a game of one seat a block is an episode of every agent on the same game seed.

    agents: by name; policies that are spelled may go without names. Who meets whom follows from
    the seed by a double round robin, and so does all chance: the same call gives the same matches.
    An agent that raises or plays illegally loses. Raises ArenaError for what cannot be played.
    """
    rules = games.get(game) if isinstance(game, str) else game
    by_name = agents if isinstance(agents, Mapping) else {spelled: spelled for spelled in agents}
    names, built = (
        list(by_name),
        {name: _build_policy(rules, agent) for name, agent in by_name.items()},
    )
    matches = [
        _Match(rules, tuple(names[agent] for agent in lineup), derive("play", seed, block))
        for block, lineups in enumerate(_plan_blocks(rules.spec, len(names), n, seed))
        for lineup in lineups
    ]
    for start in range(0, len(matches), N_TOGETHER):
        _play_together(matches[start : start + N_TOGETHER], built)
    return [match.finish() for match in matches]


def _plan_blocks(spec: GameSpec, n_agents: int, n: int, seed: int) -> list[list[Lineup]]:
    """Return the lineups block by block; all lineups of a block share one game seed."""
    if spec.n_seats == 1:
        return [[(agent,) for agent in range(n_agents)]] * -(-n // n_agents)
    field = Field(n_agents, spec.n_seats, spec.team_size)
    n_blocks = count_blocks(n, field.n_seats)
    pairs = pairings.get(PAIRING).pair(field, n_blocks, seed=derive("pair", seed))
    return [list(rotate_seats(agents)) for agents in pairs]


def _build_policy(game: Game, agent: Agent) -> Policy:
    if isinstance(agent, str):
        kind, parameters = parse_policy(agent)
        return policies.get(kind).build(game, parameters)
    # By what it offers: a policy need not be of a class of ours.
    return agent if hasattr(agent, "act") else CallablePolicy(agent)


class _Match:
    """One match under way; its episode begins when it is first asked for."""

    def __init__(self, game: Game, lineup: tuple[str, ...], game_seed: int) -> None:
        self.spec, self.lineup, self.game_seed = game.spec, lineup, game_seed
        self.state = game.start(game_seed, opening_plies=game.spec.opening_plies)
        self.guilty_seat: int | None = None
        self.problem = ""

    @property
    def is_over(self) -> bool:
        return self.guilty_seat is not None or self.state.to_move() == OVER

    @property
    def mover(self) -> str:
        return self.lineup[self.state.to_move()]

    def row(self) -> Row:
        return Row(self.state, self.state.to_move(), self.game_seed)

    def apply(self, action: int) -> None:
        if len(self.state.actions) >= self.spec.max_steps:
            raise ArenaError(f"{self.spec.id}: not over after {self.spec.max_steps} steps")
        try:
            self.state.apply(action)
        except IllegalActionError as error:
            self.charge(error, refused=action)

    def charge(self, error: Exception, *, refused: int | None = None) -> None:
        """End the match by a forfeit of the seat to move.

        Raises GameFaultError, and whatever the game raises, where no agent could decide.
        """
        check_position(self.state, self.state.to_move(), self.spec, refused=refused)
        self.guilty_seat = self.state.to_move()
        self.problem = f"{type(error).__name__}: {error}"

    def finish(self) -> PlayedMatch:
        n_seats, teams = self.spec.n_seats, self.spec.teams
        actions = tuple(self.state.actions)
        if self.guilty_seat is not None:
            forfeit = tuple(forfeit_ranks(self.guilty_seat, n_seats, teams))
            ended = (forfeit, (), self.guilty_seat, self.problem)
            return PlayedMatch(self.lineup, self.game_seed, actions, *ended)
        returns = self.state.returns()
        final = tuple(ranks(returns, n_seats, teams))
        return PlayedMatch(self.lineup, self.game_seed, actions, final, tuple(returns))


def _play_together(matches: Iterable[_Match], built: Mapping[str, Policy]) -> None:
    """Play matches to their ends, each step of an agent in one block of rows."""
    running = [match for match in matches if not match.is_over]
    while running:
        by_mover: dict[str, list[_Match]] = defaultdict(list)
        for match in running:
            by_mover[match.mover].append(match)
        for name, in_turn in by_mover.items():
            _move_matches(built[name], in_turn)
        running = [match for match in running if not match.is_over]


def _move_matches(policy: Policy, matches: Sequence[_Match]) -> None:
    """Apply the answers of a policy; where a block fails, its rows are asked one by one."""
    try:
        actions = policy.act([match.row() for match in matches])
        if len(actions) != len(matches):
            raise ValueError(f"{len(actions)} actions for {len(matches)} rows")
    # Whatever the code of an agent raises is charged to it.
    except Exception as error:
        if len(matches) == 1:
            matches[0].charge(error)
        for match in matches if len(matches) > 1 else ():
            _move_matches(policy, [match])
        return
    for match, action in zip(matches, actions, strict=True):
        match.apply(action)
