"""Whole matches become pieces, and no ending goes before its piece is stored."""

from io import BytesIO
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from arena import trajectories
from arena.games import registry as games
from arena.messages import AgentOrder, Ending, Reason
from arena.trajectories import TrajectorySpec
from workers import trajectory_recorder
from workers.errors import OrderError
from workers.match_in_play import MatchInPlay
from workers.tests.fakes import SumGame
from workers.trajectory_recorder import TrajectoryRecorder, open_recorder, temperature_of
from workers.trajectory_upload import UploadError
from workers.wire import Assignment, EndedMatch, Prepare

GAME = SumGame()
FORM = TrajectorySpec.of_game(GAME.spec)
AGENTS = (
    AgentOrder("random", {}),
    AgentOrder("network", {"temperature": 0.5}, checkpoint="c" * 64),
)


class Shelf:
    """Keeps the pieces that are put, or refuses them."""

    def __init__(self) -> None:
        self.pieces: list[pa.Table] = []
        self.error: UploadError | None = None

    def put(self, piece: bytes) -> str:
        if self.error is not None:
            raise self.error
        self.pieces.append(trajectories.read_parquet(BytesIO(piece)))
        return f"{len(self.pieces):064d}"


class Desk:
    """A recorder with a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now, self.shelf = 100.0, Shelf()
        self.recorder = TrajectoryRecorder(FORM, AGENTS, self.shelf.put, clock=lambda: self.now)

    def begin(self, index: int) -> MatchInPlay:
        assignment = Assignment(index, 1, 1_000 + index, [0, 1], [], 500 - index)
        return MatchInPlay(assignment, GAME.start(1, opening_plies=0), None)

    def decide(self, match: MatchInPlay, action: int = 3) -> None:
        seat = match.n_steps % 2
        is_network = match.seats[seat] == 1
        self.recorder.add_step(
            match,
            seat,
            action,
            observation=np.array([seat, match.n_steps], np.float32),
            mask=np.arange(10) != 7,
            logits=np.arange(10, dtype=np.float32) if is_network else None,
            value=0.5 if is_network else None,
        )
        match.n_steps += 1

    def end(self, match: MatchInPlay, ending: Ending = Ending.DONE) -> bool:
        row = EndedMatch(match.index, ending, [0, 1], Reason.NONE, -1, "", 1.0)
        returns = (1.0, -1.0) if ending is Ending.DONE else None
        return self.recorder.add_ending(match, row, returns)

    def play(self, index: int, n_steps: int = 4, ending: Ending = Ending.DONE) -> bool:
        match = self.begin(index)
        for _ in range(n_steps):
            self.decide(match)
        return self.end(match, ending)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_piece_holds_whole_matches_by_their_numbers(desk: Desk) -> None:
    assert desk.play(0)
    assert desk.play(1, 3)
    rows = desk.recorder.store_due(flush=True)
    (piece,) = desk.shelf.pieces
    episodes = trajectories.split_episodes(piece)
    assert {number: episode.num_rows for number, episode in episodes.items()} == {500: 4, 499: 3}
    assert episodes[499].column("game_seed").to_pylist() == [1_001] * 3
    assert [(row.index, row.ending, int(row.trajectory)) for row in rows] == [
        (0, Ending.DONE, 1),
        (1, Ending.DONE, 1),
    ]


def test_only_a_network_says_logits_value_and_probability(desk: Desk) -> None:
    desk.play(0, 2)
    desk.recorder.store_due(flush=True)
    plain, network = desk.shelf.pieces[0].to_pylist()
    assert [plain[name] for name in ("checkpoint", "logits", "log_prob", "value")] == [
        *("", None, None, None)
    ]
    logits = np.where(np.arange(10) == 7, -np.inf, np.arange(10)) / 0.5
    expected = logits[3] - np.log(np.exp(logits).sum())
    assert network["log_prob"] == pytest.approx(expected, rel=1e-6)
    assert (network["checkpoint"], network["value"]) == ("c" * 64, 0.5)
    assert network["logits"] == list(range(10))


def test_nothing_goes_before_its_piece_is_due(desk: Desk) -> None:
    desk.play(0)
    assert desk.recorder.store_due(flush=False) == []
    desk.now += trajectory_recorder.PIECE_S
    assert [row.index for row in desk.recorder.store_due(flush=False)] == [0]
    assert desk.recorder.store_due(flush=True) == []


@pytest.mark.parametrize(("limit", "value"), [("PIECE_MATCHES", 3), ("PIECE_BYTES", 3 * 4 * 58)])
def test_a_full_piece_goes_at_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(trajectory_recorder, limit, value)
    desk.play(0)
    desk.play(1)
    assert desk.recorder.store_due(flush=False) == []
    desk.play(2)
    assert len(desk.recorder.store_due(flush=False)) == 3


def test_a_forfeited_match_keeps_what_was_played(desk: Desk) -> None:
    assert desk.play(0, 3, Ending.FORFEIT)
    desk.recorder.store_due(flush=True)
    assert desk.shelf.pieces[0].column("truncated").to_pylist() == [False, True, True]


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.INTERRUPTED])
def test_what_has_no_outcome_leaves_nothing(desk: Desk, ending: Ending) -> None:
    assert not desk.play(0, 3, ending)
    assert desk.recorder.store_due(flush=True) == []
    assert desk.shelf.pieces == []


def test_a_match_without_a_decision_has_nothing_to_wait_for(desk: Desk) -> None:
    assert not desk.play(0, 0, Ending.FORFEIT)


def test_a_match_that_starts_again_is_told_once(desk: Desk) -> None:
    first = desk.begin(0)
    desk.decide(first)
    desk.recorder.forget_match(first)
    second = desk.begin(1)
    desk.decide(second)
    desk.play(1, 2)
    desk.play(0, 2)
    desk.recorder.store_due(flush=True)
    assert desk.shelf.pieces[0].column("step").to_pylist() == [0, 1, 0, 1]


def test_a_piece_that_cannot_be_stored_interrupts_its_matches(desk: Desk) -> None:
    desk.shelf.error = UploadError("away", ending=Ending.INTERRUPTED, reason=Reason.SITE_LOST)
    desk.play(0)
    (row,) = desk.recorder.store_due(flush=True)
    assert (row.ending, row.reason, row.detail) == (Ending.INTERRUPTED, Reason.SITE_LOST, "away")
    assert (row.ranks, row.trajectory) == ([], "")


def test_rows_of_a_block_are_copied(desk: Desk) -> None:
    match, observation = desk.begin(0), np.zeros(2, np.float32)
    desk.recorder.add_step(
        match, 0, 1, observation=observation, mask=np.ones(10, np.bool_), logits=None, value=None
    )
    observation += 9
    desk.end(match)
    desk.recorder.store_due(flush=True)
    assert desk.shelf.pieces[0].column("observation").to_pylist() == [[0.0, 0.0]]


def test_the_temperature_is_that_of_the_kind_unless_given() -> None:
    assert temperature_of(AgentOrder("network", {})) == 0.0
    assert temperature_of(AgentOrder("network", {"temperature": 2})) == 2.0
    assert temperature_of(AgentOrder("random", {})) is None


def test_a_kind_without_a_temperature_says_no_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trajectory_recorder, "TEMPERATURE", "heat")
    desk = Desk()
    desk.play(0, 2)
    desk.recorder.store_due(flush=True)
    _, network = desk.shelf.pieces[0].to_pylist()
    assert (network["log_prob"], network["value"]) == (None, 0.5)


def _prepare() -> Prepare:
    return Prepare(1, "connect_four", 1, {}, 0, [], None, "/files/trajectories/00?until=1")


def test_a_recorder_is_opened_for_the_game_of_the_order() -> None:
    game = games.get("connect_four")
    recorder = open_recorder(_prepare(), game, {"EVALSITE_SITE_URL": "http://site/"})
    assert cast(Any, recorder)._form == TrajectorySpec.of_game(game.spec)


@pytest.mark.parametrize("environ", [{}, {"EVALSITE_SITE_URL": "ftp://site"}])
def test_without_a_web_server_the_order_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(OrderError, match="EVALSITE_SITE_URL"):
        open_recorder(_prepare(), games.get("connect_four"), environ)
