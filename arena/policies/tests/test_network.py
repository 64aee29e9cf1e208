"""Policies that play what a network says."""

import gc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.conformance.networks import Linear
from arena.errors import InvalidOutputError, ParameterError
from arena.games import registry as games
from arena.games.base import OVER, Game
from arena.policies.base import Row
from arena.policies.catalog.network import POLICY, LogitsPolicy
from arena.policies.network_policy import FloatBatch, NetworkOutput
from arena.policies.sampling import choose_greedy, row_uniforms, sample_actions
from arena.policies.tests.positions import row_after

FOUR = games.get("connect_four")


def policy_of(network: Linear, game: Game = FOUR, **parameters: float) -> LogitsPolicy:
    policy = POLICY.build(game, parameters)
    policy.attach(network)
    return policy


def rows_of(lines: Sequence[Sequence[int]]) -> list[Row]:
    return [row_after(FOUR, line, game_seed=seed) for seed, line in enumerate(lines)]


LINES: tuple[list[int], ...] = ([], [3], [3, 3, 2], [0] * 6, [6, 5, 6, 5])


def test_greedy_takes_the_best_legal_action_and_the_lowest_of_equal_ones() -> None:
    logits = np.array([[9, 2, 5, 5], [1, 1, 1, 1]], np.float32)
    masks = np.array([[False, True, True, True], [True] * 4])
    assert choose_greedy(logits, masks).tolist() == [2, 0]


def test_actions_are_drawn_by_their_probability() -> None:
    logits = np.log(np.array([[0.5, 9.0, 0.25, 0.25]], np.float32)).repeat(4000, axis=0)
    masks = np.array([[True, False, True, True]]).repeat(4000, axis=0)
    uniforms = np.random.default_rng(1).random(4000)
    counts = np.bincount(sample_actions(logits, masks, uniforms, temperature=1.0), minlength=4)
    assert counts / 4000 == pytest.approx([0.5, 0, 0.25, 0.25], abs=0.03)


def test_a_low_temperature_is_greedy_and_a_high_one_uniform() -> None:
    logits = np.array([[0.0, 1.0, 2.0]], np.float32).repeat(3000, axis=0)
    masks = np.ones_like(logits, np.bool_)
    uniforms = np.random.default_rng(2).random(3000)
    assert set(sample_actions(logits, masks, uniforms, temperature=1e-300).tolist()) == {2}
    counts = np.bincount(sample_actions(logits, masks, uniforms, temperature=100.0), minlength=3)
    assert counts / 3000 == pytest.approx([1 / 3] * 3, abs=0.04)


@given(
    logits=st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=2, max_size=9),
    mask=st.data(),
    uniform=st.sampled_from([0.0, 0.3, 1 - 2**-53]),
    temperature=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_only_legal_actions_are_drawn(
    logits: list[float], mask: st.DataObject, uniform: float, temperature: float
) -> None:
    n_actions = len(logits)
    legal = mask.draw(st.lists(st.integers(0, n_actions - 1), min_size=1))
    masks = np.isin(np.arange(n_actions), legal)[None]
    block, at = np.array([logits], np.float32), np.array([uniform])
    assert sample_actions(block, masks, at, temperature=temperature)[0] in legal
    assert choose_greedy(block, masks)[0] in legal


def test_a_uniform_number_belongs_to_its_decision() -> None:
    rows = rows_of(LINES)
    drawn = row_uniforms(rows)
    assert drawn.dtype == np.float64
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(set(drawn.tolist())) == len(rows)
    assert row_uniforms(rows[::-1])[::-1].tolist() == drawn.tolist()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_block_is_asked_once_and_answers_as_its_rows_do(temperature: float) -> None:
    network = Linear(FOUR)
    policy = policy_of(network, temperature=temperature)
    together = policy.act(rows_of(LINES))
    assert network.blocks == [len(LINES)]
    assert together == [policy.act([row])[0] for row in rows_of(LINES)]
    for row, action in zip(rows_of(LINES), together, strict=True):
        assert action in row.state.legal_actions()


def test_asking_twice_gives_the_same_decisions() -> None:
    policy = policy_of(Linear(FOUR), temperature=1.0)
    rows = rows_of(LINES)
    assert policy.act(rows) == policy.act(rows)


def test_a_question_holds_what_was_asked_and_decisions_what_was_said() -> None:
    policy = policy_of(Linear(FOUR))
    question = policy.ask(rows_of(LINES))
    assert question.observations.shape == (len(LINES), *FOUR.spec.observation_shape)
    assert question.masks[3].tolist() == [False] + [True] * 6
    evaluation = policy.decide(question).evaluation
    assert evaluation.logits.shape == question.masks.shape
    assert evaluation.values.shape == (len(LINES),)


def test_nothing_is_asked_about_no_rows() -> None:
    network = Linear(FOUR, size=2)
    decisions = policy_of(network).decide(policy_of(network).ask([]))
    assert decisions.actions == []
    assert decisions.evaluation.logits.shape == (0, 7)
    assert decisions.evaluation.values.shape == (0,)
    assert network.blocks == []


@pytest.mark.parametrize("spoil", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_distribution_is_refused_also_on_an_illegal_action(spoil: float) -> None:
    network = Linear(FOUR)
    network.spoil = spoil
    with pytest.raises(InvalidOutputError, match="1 of 2 rows"):
        policy_of(network).act(rows_of([[], [0] * 6]))


class Short(Linear):
    """Forgets an action."""

    def result(self, ticket: tuple[FloatBatch, FloatBatch]) -> NetworkOutput:
        return super().result(ticket)._replace(logits=np.zeros((1, 6), np.float32))


class Forgetful(Linear):
    """Answers a recurrent state of another form."""

    def result(self, ticket: tuple[FloatBatch, FloatBatch]) -> NetworkOutput:
        return super().result(ticket)._replace(states=np.zeros((1, 1), np.float32))


class Lost(Linear):
    """Answers a recurrent state that is none."""

    def result(self, ticket: tuple[FloatBatch, FloatBatch]) -> NetworkOutput:
        answer = super().result(ticket)
        return answer._replace(states=answer.states * np.float32("nan"))


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (Short(FOUR), r"\(1, 7\), got \(1, 6\)"),
        (Forgetful(FOUR, size=3), r"\(1, 3\), got \(1, 1\)"),
        (Lost(FOUR, size=3), "NaN"),
    ],
)
def test_an_answer_of_another_form_is_refused(network: Linear, words: str) -> None:
    with pytest.raises(InvalidOutputError, match=words):
        policy_of(network).act(rows_of([[]]))


@pytest.mark.parametrize("temperature", [-0.1, 100.5, "warm"])
def test_a_temperature_out_of_range_is_refused(temperature: object) -> None:
    with pytest.raises(ParameterError, match="temperature"):
        POLICY.build(FOUR, {"temperature": temperature})


# Recurrent networks


def played(policy: LogitsPolicy, game: Game, n_steps: int, game_seed: int = 5) -> Row:
    """Return the row after so many steps that the policy decides for every seat."""
    state = game.start(game_seed, opening_plies=game.spec.opening_plies)
    for _ in range(n_steps):
        row = Row(state, state.to_move(), game_seed)
        (action,) = policy.act([row])
        state.apply(action)
    assert state.to_move() != OVER
    return Row(state, state.to_move(), game_seed)


def again(game: Game, row: Row) -> Row:
    """Return the same decision of a match that was resumed from its actions."""
    state = game.start(row.game_seed, opening_plies=len(row.state.opening))
    for action in row.state.actions:
        state.apply(action)
    return Row(state, row.seat, row.game_seed)


@pytest.mark.parametrize("name", ["connect_four", "backgammon", "othello"])
def test_a_resumed_match_recalls_what_its_seats_have_seen(name: str) -> None:
    game = games.get(name)
    policy = policy_of(Linear(game, size=4), game)
    row = played(policy, game, n_steps=3)
    remembered = policy.ask([row]).states
    assert remembered.any()
    fresh = policy_of(Linear(game, size=4), game)
    assert fresh.ask([again(game, row)]).states.tolist() == remembered.tolist()
    assert policy.ask([row]).states.tolist() == remembered.tolist()


def test_a_known_match_is_not_replayed_and_a_block_of_unknown_ones_is_replayed_together() -> None:
    network = Linear(FOUR, size=4)
    policy = policy_of(network)
    rows = rows_of(LINES)
    policy.ask(rows)
    # Their seats have decided 0, 0, 1, 3 and 2 times.
    assert network.blocks == [3, 2, 1, len(LINES)]
    network.blocks.clear()
    row = played(policy, FOUR, n_steps=6)
    policy.act([row])
    policy.act([row])
    assert network.blocks == [1] * 8


def test_the_same_decision_asked_again_is_shown_the_same_state() -> None:
    policy = policy_of(Linear(FOUR, size=4))
    row = played(policy, FOUR, n_steps=4)
    first, again = (policy.decide(policy.ask([row])).evaluation for _ in range(2))
    assert first.logits.tolist() == again.logits.tolist()
    assert first.states.tolist() == again.states.tolist()


def test_a_match_that_is_over_is_forgotten() -> None:
    policy = policy_of(Linear(FOUR, size=4))
    row = played(policy, FOUR, n_steps=2)
    kept = policy._recurrent._kept
    assert len(kept) == 1
    del row
    gc.collect()
    assert len(kept) == 0


def test_a_state_that_went_back_is_recalled_anew() -> None:
    policy = policy_of(Linear(FOUR, size=4))
    row = played(policy, FOUR, n_steps=4)
    policy.act([row])
    before = policy.ask([again(FOUR, row)]).states
    row.state.actions.pop()  # type: ignore[attr-defined]
    row.state.actions.pop()  # type: ignore[attr-defined]
    shorter = policy.ask([row]).states
    assert shorter.tolist() != before.tolist()
    assert shorter.tolist() == policy.ask([again(FOUR, row)]).states.tolist()
