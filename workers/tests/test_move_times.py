"""The time of each move and the value that its agent said, as a player notes and reports them."""

from base64 import b64decode
from collections.abc import Sequence

import pytest

from arena.messages import AgentOrder, Ending, MatchOrderRow, Reason
from arena.move_notes import MoveNote, note_time, note_value, unpack_notes
from arena.policies.base import Row
from workers.order_setup import GPU, LOCAL
from workers.progress import MatchProgress, OrderProgress
from workers.tests import fakes, networked
from workers.tests.fake_networks import network
from workers.tests.orders import fake, make_order
from workers.tests.runners import Lookout, items
from workers.tests.test_runner import Stage
from workers.wire import EndedMatch

TICK_S = 0.01
DONE = EndedMatch(0, Ending.DONE, [0, 1], Reason.NONE, -1, "", 12.0)


class Ticking(Stage):
    """A stage whose clock moves only while an agent that is not batched, or a block, decides."""

    def clock(self) -> float:
        return self.now


@pytest.fixture
def stage(lookout: Lookout, monkeypatch: pytest.MonkeyPatch) -> Ticking:
    stage = Ticking(lookout)
    act = fakes.FakePolicy.act

    def decide(self: fakes.FakePolicy, rows: Sequence[Row]) -> list[int]:
        stage.now += TICK_S
        return act(self, rows)

    monkeypatch.setattr(fakes.FakePolicy, "act", decide)
    return stage


def times(stage: Stage) -> list[float | None]:
    return [note.took_s for notes in stage.reports.notes.values() for note in notes]


def test_the_time_of_a_move_is_that_of_its_agents_call(stage: Ticking) -> None:
    stage.play(stage.runner(), items(2))
    assert times(stage) == [pytest.approx(TICK_S, rel=0.05)] * 12


def test_a_game_that_takes_long_adds_nothing(stage: Ticking) -> None:
    stage.play(stage.runner(step_s=0.001), items(1))
    assert times(stage) == [pytest.approx(TICK_S, rel=0.05)] * 6


def test_matches_that_are_decided_at_once_share_the_time(stage: Ticking) -> None:
    batched = (fake(policy="fake_batched"), fake(policy="fake_batched"))
    stage.play(stage.runner(batched), items(5))
    assert times(stage) == [pytest.approx(TICK_S / 5, rel=0.05)] * 30


@pytest.mark.parametrize(
    ("values", "kept"),
    [([0.5], 0.5), ([None], None), ([0.5, 0.5], None), ([True], None), ([float("nan")], None)],
)
def test_a_policy_may_say_what_it_expects(
    stage: Ticking, monkeypatch: pytest.MonkeyPatch, values: list[object], kept: float | None
) -> None:
    monkeypatch.setattr(fakes.FakePolicy, "last_values", values, raising=False)
    stage.play(stage.runner(), items(1))
    assert {note.value for note in stage.reports.notes[0]} == {kept}


def test_a_block_says_the_values_of_its_rows(
    stage: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakes.FakePolicy, "last_values", [0.25, None, -1.0], raising=False)
    batched = (fake(policy="fake_batched"), fake(policy="fake_batched"))
    stage.play(stage.runner(batched), items(3))
    values = [{note.value for note in stage.reports.notes[index]} for index in range(3)]
    assert values == [{0.25}, {None}, {-1.0}]


@pytest.mark.parametrize("agent", [network(placement=GPU), network(placement=LOCAL)])
def test_what_a_network_expects_is_noted_without_a_trajectory(
    lookout: Lookout, agent: AgentOrder
) -> None:
    stage = networked.Stage(lookout)
    stage.play([agent, fake()], n=4)
    for notes in stage.reports.notes.values():
        assert all(isinstance(note.value, float) for note in notes[::2])
        assert {note.value for note in notes[1::2]} == {None}
        assert all(note.took_s is not None for note in notes)


def test_a_match_that_changes_its_player_keeps_the_times_of_its_moves() -> None:
    progress = OrderProgress(make_order(1))
    match = progress.open[0]
    match.actions, match.notes = [3, 4], [note_time(1.0), note_time(2.0) + note_value(0.5)]
    progress.put_back([match])
    match.actions.append(5)
    match.notes.append(note_time(3.0))
    row = match.to_result(DONE)
    notes = unpack_notes(b64decode(row.notes), row.n_steps)
    assert [note.took_s for note in notes] == pytest.approx([1, 2, 3], rel=0.05)
    assert [note.value for note in notes] == [None, 0.5, None]


def test_a_match_too_long_to_report_its_actions_reports_no_times() -> None:
    match = MatchProgress(0, MatchOrderRow(1, 1, 3, [0, 1], "t"))
    match.actions, match.notes = [100] * 30_000, [1] * 30_000
    row = match.to_result(DONE)
    assert (row.actions, row.notes) == ("", "")


def test_the_longest_match_that_is_reported_fits_its_field() -> None:
    match = MatchProgress(0, MatchOrderRow(1, 1, 3, [0, 1], "t"))
    match.actions, match.notes = [1] * 50_000, [note_time(1.0) + note_value(0.5)] * 50_000
    row = match.to_result(DONE)
    assert row.actions
    assert len(row.notes) <= 200_000
    assert unpack_notes(b64decode(row.notes), 50_000)[0] == MoveNote(1.0, 0.5)
