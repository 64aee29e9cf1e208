"""Self-play knows what the rules decide; training is repeatable to the bit and gets stronger."""

import hashlib
import signal
from pathlib import Path

import numpy as np
import pytest

from arena.checkpoints import inspect_file
from examples.connect_four import environment as rules
from examples.connect_four.learner import SEAL
from examples.connect_four.self_play import Decided, Floats, SelfPlay, Settings, lookahead, returns
from examples.connect_four.train import note_interrupt, train
from examples.tests.test_environment import played
from inference.model import load

SMALL = Settings(n_games=16, n_plies=4)


def nobody_knows(observations: Floats) -> tuple[Floats, Floats]:
    n = len(observations)
    return np.zeros((n, 7), np.float32), np.full(n, 0.25, np.float32)


def test_a_win_at_once_is_worth_one_and_the_other_seats_minus_one() -> None:
    worth = lookahead(played([0, 6, 0, 6, 0, 6]), nobody_knows)[0]
    assert worth[0] == 1
    assert worth[6] == pytest.approx(-0.25)
    assert list(worth[1:6]) == [-1] * 5


def test_full_columns_are_worth_nothing_and_never_played() -> None:
    before = played([3, 3, 3, 3, 3, 3])
    assert lookahead(before, nobody_knows)[0, 3] == 0
    experience = SelfPlay(SMALL, np.random.default_rng(1)).play(nobody_knows)
    is_full = experience.observations[:, 2, 5] == 0
    assert (experience.policies[is_full] == 0).all()
    np.testing.assert_allclose(experience.policies.sum(axis=1), 1, rtol=1e-5)


def test_values_are_seen_from_the_seat_to_move() -> None:
    wins = _decided(value=0.5, is_over=True, reward=1)
    before = _decided(value=0.5, is_over=False, reward=0)
    values = returns([before, before, wins], trust=1)
    assert [value[0] for value in values] == [1, -1, 1]
    assert returns([before, wins], trust=0)[0][0] == 0.5


def test_the_same_seed_gives_the_same_files_to_the_bit(tmp_path: Path) -> None:
    hashes = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        saved = train(3, tmp_path / name, is_last=lambda i: i == 2, settings=SMALL)
        hashes.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in saved])
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 3


def test_checkpoints_are_sealed_and_named_by_their_updates(tmp_path: Path) -> None:
    saved = train(3, tmp_path, is_last=lambda i: i == 3, settings=Settings(n_games=64, n_plies=8))
    assert [path.stem for path in saved] == [f"connect_four_step_{n:06d}" for n in (0, 4, 8, 12)]
    for path in saved:
        assert inspect_file(path).seal == SEAL
        assert load(path).n_bytes < 500_000


def test_ctrl_c_ends_after_the_iteration_under_way(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        interrupted = note_interrupt()
        signal.raise_signal(signal.SIGINT)
        saved = train(3, tmp_path, is_last=lambda _: bool(interrupted), settings=SMALL)
        assert len(saved) == 2
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def _decided(*, value: float, is_over: bool, reward: float) -> Decided:
    return Decided(
        rules.start(1),
        np.full((1, 7), 1 / 7, np.float32),
        np.array([value], np.float32),
        np.array([is_over]),
        np.array([reward], np.float32),
    )
