"""What every policy kind must keep to, on every game that it does not refuse."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from random import Random

from arena.conformance.base import expect_error, require
from arena.conformance.lines import FirstMove
from arena.conformance.networks import Linear
from arena.conformance.playthroughs import choose_action, require_same, show_state
from arena.errors import ParameterError, UnsupportedGameError
from arena.fault_injection import Fault, FaultKind, inject_into_state
from arena.games.base import OVER, Game
from arena.policies.base import Policy, PolicyKind, Row, read_last_values
from arena.policies.line_policy import LinePolicy
from arena.policies.network_policy import NetworkPolicy

GAME_SEED = 11
# How far a match is followed; a search policy on chess decides a few times a second.
N_STEPS = 4
# Game seed and random steps of the states that are asked about.
STARTS = ((1, 0), (2, 1), (3, 8))


def says_what_it_is(kind: PolicyKind, game: Game) -> None:
    """Check that it has a title, and parameters with distinct names, sound defaults and help."""
    del game
    require(kind.title, "give it a title")
    require(type(kind.is_batched) is bool, f"is_batched must be a bool, is {kind.is_batched!r}")
    names = [parameter.name for parameter in kind.parameters]
    require(len(set(names)) == len(names), f"parameters must have distinct names, are {names}")
    for parameter in kind.parameters:
        value = parameter.read_value(kind.id, parameter.default)
        require(value == parameter.default, f"the default of {parameter.name!r} is not its own")
        require(parameter.help, f"give the parameter {parameter.name!r} a help text")


def refuses_with_its_reason(kind: PolicyKind, game: Game) -> None:
    """Check that build() raises UnsupportedGameError where refusal() says why."""
    reason = kind.refusal(game.spec)
    if reason is None:
        require(kind.build(game, {}), "build() must return a policy where refusal() is None")
        return
    require(reason, "refusal() must be None or say why: it is empty")
    change = f"build() must raise UnsupportedGameError for {game.spec.id}, which refusal() refuses"
    with expect_error(UnsupportedGameError, change):
        kind.build(game, {})


def refuses_unknown_parameters(kind: PolicyKind, game: Game) -> None:
    """Check that build() refuses what is not declared, or of another type, and names it."""
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{parameter.name: object()} for parameter in kind.parameters]
    for parameters in refused if kind.refusal(game.spec) is None else ():
        (name,) = parameters
        with expect_error(ParameterError, f"build() must refuse {name!r}", name=name):
            kind.build(game, parameters)


def plays_legal_actions(kind: PolicyKind, game: Game) -> None:
    """Check that act() returns a legal int for each row, and nothing for none."""
    for policy in build_supported(kind, game):
        rows = make_rows(game)
        actions = policy.act(rows)
        n_rows = len(rows)
        require(len(actions) == n_rows, f"act() must return {n_rows} actions, got {len(actions)}")
        for row, action in zip(rows, actions, strict=True):
            require(type(action) is int, f"an action must be a Python int, is {action!r}")
            legal = row.state.legal_actions()
            require(action in legal, f"act() must return legal actions, {action} is not in {legal}")
        require(list(policy.act([])) == [], "act([]) must return no actions")


def leaves_the_states_alone(kind: PolicyKind, game: Game) -> None:
    """Check that act() changes no state that it is asked about."""
    for policy in build_supported(kind, game):
        rows = make_rows(game)
        before = [show_state(game, row.state) for row in rows]
        policy.act(rows)
        for row, shown_before in zip(rows, before, strict=True):
            change = "act() must not change a state: copy it"
            require_same(show_state(game, row.state), shown_before, change)


def answers_each_row_on_its_own(kind: PolicyKind, game: Game) -> None:
    """Check that neither the block around a row nor what was asked before changes its action."""
    for policy in build_supported(kind, game):
        rows = make_rows(game)
        together = list(policy.act(rows))
        turned = list(policy.act(rows[::-1]))[::-1]
        change = "an action may depend on its row alone"
        require(turned == together, f"{change}: the order of the rows, or an earlier call, matters")
        row_by_row = [next(iter(built.act([row]))) for row in rows for built in [build(kind, game)]]
        require(row_by_row == together, f"{change}: the other rows of the block matter")


def plays_a_match_again(kind: PolicyKind, game: Game) -> None:
    """Check that the same game seed gives the same match."""
    if kind.refusal(game.spec) is None:
        matches = [play_start(kind, game) for _ in range(2)]
        change = "a match of one game seed must be the same again: draw chance from row.pick"
        require(matches[0] == matches[1], change)


def cannot_tell_a_struck_state(kind: PolicyKind, game: Game) -> None:
    """Check that it decides by what the protocol of State offers, not by the class of a state."""
    for policy in build_supported(kind, game):
        for row in make_rows(game)[:1]:
            fault = Fault(FaultKind.ERROR, 0)
            state = inject_into_state(row.state, fault, hang_s=0, sleep=lambda _: None)
            struck = Row(state, row.seat, row.game_seed)
            is_same = list(policy.act([struck])) == list(policy.act([row]))
            require(is_same, "use the methods of State only, not the class of a state")


def says_values_of_its_rows_or_none(kind: PolicyKind, game: Game) -> None:
    """Check `last_values`, which a policy may leave out: a finite float or None for each row."""
    for policy in build_supported(kind, game):
        rows = make_rows(game)
        policy.act(rows)
        if not hasattr(policy, "last_values"):
            return
        together = read_last_values(policy, len(rows))
        require(len(together) == len(rows), "last_values must have a value for each row, or None")
        for value in together:
            is_sound = value is None or (isinstance(value, float) and isfinite(value))
            require(is_sound, f"a value must be a finite float or None, is {value!r}")
        policy.act(rows[:1])
        is_same = read_last_values(policy, 1) == together[:1]
        require(is_same, "a value may depend on its row alone: the other rows of the block matter")


def make_rows(game: Game) -> list[Row]:
    """Return undecided states of different episodes, after 0, 1 and some random steps."""
    rows = []
    for game_seed, n_steps in STARTS:
        state, rng = game.start(game_seed, opening_plies=0), Random(game_seed)
        while state.to_move() != OVER and len(state.actions) < min(n_steps, game.spec.max_steps):
            state.apply(choose_action(state, rng))
        if state.to_move() != OVER:
            rows.append(Row(state, state.to_move(), game_seed))
    return rows


def build_supported(kind: PolicyKind, game: Game) -> Iterator[Policy]:
    """Yield the policy, or nothing where it refuses the game."""
    if kind.refusal(game.spec) is None:
        yield build(kind, game)


def build(kind: PolicyKind, game: Game) -> Policy:
    """Return the policy; one that needs a network or a line gets a small one."""
    policy = kind.build(game, {})
    if isinstance(policy, NetworkPolicy):
        policy.attach(Linear(game, size=4))
    elif isinstance(policy, LinePolicy):
        policy.attach(FirstMove())
    return policy


def play_start(kind: PolicyKind, game: Game) -> Sequence[int]:
    """Return the first actions of a match of the policy against itself."""
    policy = build(kind, game)
    state = game.start(GAME_SEED, opening_plies=game.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < N_STEPS:
        (action,) = policy.act([Row(state, state.to_move(), GAME_SEED)])
        state.apply(action)
    return [*state.opening, *state.actions]


CHECKS: tuple[Callable[[PolicyKind, Game], None], ...] = (
    says_what_it_is,
    refuses_with_its_reason,
    refuses_unknown_parameters,
    plays_legal_actions,
    leaves_the_states_alone,
    answers_each_row_on_its_own,
    plays_a_match_again,
    cannot_tell_a_struck_state,
    says_values_of_its_rows_or_none,
)
