"""The shipped checkpoints are those of one run, ready to be added, and got stronger."""

from itertools import pairwise
from pathlib import Path

from arena.checkpoints import inspect_file, read_step
from examples import connect_four
from examples.connect_four.learner import SEAL
from examples.connect_four.strength import meet, network, spelled

FOLDER = Path(connect_four.__path__[0]) / "checkpoints"
SHIPPED = sorted(FOLDER.iterdir())


def test_there_are_eight_or_more_from_the_untrained_on_each_about_twice_the_step_before() -> None:
    steps = [read_step(path.name) for path in SHIPPED]
    numbers = [step for step in steps if step is not None]
    assert len(numbers) == len(SHIPPED) >= 8
    assert numbers[0] == 0
    assert all(1.5 < b / a < 2.5 for a, b in pairwise(numbers[1:]))


def test_they_are_sealed_and_a_few_hundred_kilobytes() -> None:
    for path in SHIPPED:
        assert inspect_file(path).seal == SEAL
        assert path.stat().st_size < 400_000


def test_the_last_ones_beat_the_first_ones() -> None:
    first, *_, last = (network(path, temperature=0) for path in SHIPPED)
    assert meet(last, first, n_matches=40, seed=3) > 0.9
    assert meet(last, spelled("random"), n_matches=40, seed=3) > 0.9
    assert meet(last, spelled("alphabeta:2"), n_matches=40, seed=3) > 0.6


def test_a_meeting_is_the_same_again_and_seen_from_the_other_side() -> None:
    early, late = (network(path, temperature=0) for path in (SHIPPED[2], SHIPPED[-1]))
    share = meet(early, late, n_matches=20, seed=4)
    assert share == meet(early, late, n_matches=20, seed=4)
    assert 0 <= share < 0.5
