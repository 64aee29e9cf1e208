"""What every policy kind must keep to, on every game: each check fails where it does not."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from arena.errors import ParameterError, UnsupportedGameError
from arena.fault_injection import Fault, FaultKind, inject_into_state
from arena.games.base import OVER, Game
from arena.policies.base import Policy, PolicyKind, Row
from arena.policies.network_policy import NetworkPolicy
from arena.policies.tests.networks import Linear
from tests.game_checks import assert_same, choose, seen

GAME_SEED = 11
N_STEPS = 4
"""How far a match is followed; a search policy on chess decides a few times a second."""


def rows_of(game: Game) -> list[Row]:
    """Return undecided states of different episodes, after 0, 1 and some random steps."""
    rows = []
    for game_seed, n_steps in ((1, 0), (2, 1), (3, min(8, game.spec.max_steps - 1))):
        state, rng = game.start(game_seed, opening_plies=0), Random(game_seed)
        while state.to_move() != OVER and len(state.actions) < n_steps:
            state.apply(choose(state, rng))
        if state.to_move() != OVER:
            rows.append(Row(state, state.to_move(), game_seed))
    return rows


def says_what_it_is(kind: PolicyKind, game: Game) -> None:
    assert kind.title
    assert type(kind.is_batched) is bool
    names = [parameter.name for parameter in kind.parameters]
    assert len(set(names)) == len(names)
    for parameter in kind.parameters:
        assert parameter.read_value(kind.id, parameter.default) == parameter.default
        assert parameter.help


def refuses_with_its_reason(kind: PolicyKind, game: Game) -> None:
    reason = kind.refusal(game.spec)
    if reason is None:
        assert kind.build(game, {})
        return
    with pytest.raises(UnsupportedGameError) as caught:
        kind.build(game, {})
    assert reason, "an empty reason"
    assert all(word in str(caught.value) for word in (reason, kind.id, game.spec.id))


def refuses_unknown_parameters(kind: PolicyKind, game: Game) -> None:
    refused: list[dict[str, object]] = [{"no_such_parameter": 1}]
    refused += [{parameter.name: object()} for parameter in kind.parameters]
    for parameters in refused if kind.refusal(game.spec) is None else ():
        with pytest.raises(ParameterError) as caught:
            kind.build(game, parameters)
        assert caught.value.name in parameters, "the message names the parameter"


def plays_legal_actions(kind: PolicyKind, game: Game) -> None:
    if policy := supported(kind, game):
        rows = rows_of(game)
        actions = policy.act(rows)
        assert len(actions) == len(rows)
        for row, action in zip(rows, actions, strict=True):
            assert type(action) is int, f"{action!r} is no int"
            assert action in row.state.legal_actions()
        assert list(policy.act([])) == []


def leaves_the_states_alone(kind: PolicyKind, game: Game) -> None:
    if policy := supported(kind, game):
        rows = rows_of(game)
        before = [seen(game, row.state) for row in rows]
        policy.act(rows)
        for row, shown in zip(rows, before, strict=True):
            assert_same(seen(game, row.state), shown, "the policy changes the state")


def answers_each_row_on_its_own(kind: PolicyKind, game: Game) -> None:
    """Check that neither the block around a row nor what was asked before changes its action."""
    if policy := supported(kind, game):
        rows = rows_of(game)
        together = list(policy.act(rows))
        assert list(policy.act(rows[::-1]))[::-1] == together, "the order of the rows matters"
        alone = [next(iter(built(kind, game).act([row]))) for row in rows]
        assert alone == together, "the other rows of the block matter"


def plays_a_match_again(kind: PolicyKind, game: Game) -> None:
    if kind.refusal(game.spec) is None:
        assert match_of(kind, game) == match_of(kind, game)


def cannot_tell_a_struck_state(kind: PolicyKind, game: Game) -> None:
    if policy := supported(kind, game):
        for row in rows_of(game)[:1]:
            fault = Fault(FaultKind.ERROR, 0)
            state = inject_into_state(row.state, fault, hang_s=0, sleep=lambda _: None)
            struck = Row(state, row.seat, row.game_seed)
            assert list(policy.act([struck])) == list(policy.act([row]))


def supported(kind: PolicyKind, game: Game) -> Policy | None:
    return built(kind, game) if kind.refusal(game.spec) is None else None


def built(kind: PolicyKind, game: Game) -> Policy:
    """Return the policy; one that needs a network gets a small recurrent one."""
    policy = kind.build(game, {})
    if isinstance(policy, NetworkPolicy):
        policy.attach(Linear(game, size=4))
    return policy


def match_of(kind: PolicyKind, game: Game) -> Sequence[int]:
    """Return the first actions of a match of the policy against itself."""
    policy = built(kind, game)
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
)
