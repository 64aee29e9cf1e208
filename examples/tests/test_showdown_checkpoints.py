"""The shipped checkpoints for Pokemon Showdown are those of one run, sealed, and got stronger."""

from pathlib import Path

import pytest

from arena.checkpoints import inspect_file, read_step
from arena.games.catalog import showdown_gen1random
from arena.local_play import play
from arena.policies import registry as policies
from arena.policies.network_policy import NetworkPolicy
from examples import showdown
from examples.connect_four.strength import InProcess
from examples.showdown.learner import SEAL
from tests.catalogs import needs_simulator

SHIPPED = sorted((Path(showdown.__path__[0]) / "checkpoints").iterdir())


def attach_network(path: Path) -> NetworkPolicy:
    policy = policies.get("network").build(showdown_gen1random.GAME, {})
    assert isinstance(policy, NetworkPolicy)
    policy.attach(InProcess(path))
    return policy


def test_they_are_sealed_and_their_steps_rise_from_the_untrained_on() -> None:
    steps = [read_step(path.name) for path in SHIPPED]
    assert steps[0] == 0
    assert len(set(steps)) == len(SHIPPED) == 8
    for path in SHIPPED:
        assert inspect_file(path).seal == SEAL
        assert path.stat().st_size < 400_000


@needs_simulator
@pytest.mark.parametrize(("earlier", "later"), [(0, 3), (3, 7)])
def test_later_ones_beat_earlier_ones(earlier: int, later: int) -> None:
    named = {str(place): attach_network(SHIPPED[place]) for place in (earlier, later)}
    matches = play(showdown_gen1random.GAME, named, 40, seed=5)
    assert all(match.guilty_seat is None for match in matches)
    n_won = sum(match.lineup[match.ranks.index(0)] == str(later) for match in matches)
    assert n_won > 20
