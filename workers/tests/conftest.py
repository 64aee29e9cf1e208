"""Pools of real players, and a call memory without any."""

from collections.abc import Iterator

import pytest

from workers.pool import PlayerPool
from workers.tests.fake_player import COMMAND
from workers.tests.orders import make_order, play
from workers.tests.runners import Lookout, new_lookout


@pytest.fixture(scope="session")
def shared_crew() -> Iterator[PlayerPool]:
    pool = PlayerPool(2, command=COMMAND)
    yield pool
    pool.close()


@pytest.fixture
def pool(shared_crew: PlayerPool) -> PlayerPool:
    """Two real players that are ready; they outlive the test, as they outlive an order."""
    shared_crew.start_missing_players()
    while not all(player.is_ready for player in shared_crew.players):
        play(make_order(1), shared_crew)
    return shared_crew


@pytest.fixture
def lookout() -> Iterator[Lookout]:
    call_memory = new_lookout()
    yield call_memory
    call_memory.close()
