"""Crews of real players, and a beacon without any."""

from collections.abc import Iterator

import pytest

from workers.pool import Crew
from workers.tests.fake_player import COMMAND
from workers.tests.orders import make_order, play
from workers.tests.runners import Lookout, new_lookout


@pytest.fixture(scope="session")
def shared_crew() -> Iterator[Crew]:
    crew = Crew(2, command=COMMAND)
    yield crew
    crew.close()


@pytest.fixture
def crew(shared_crew: Crew) -> Crew:
    """Two real players that are ready; they outlive the test, as they outlive an order."""
    shared_crew.fill()
    while not all(player.is_ready for player in shared_crew.players):
        play(make_order(1), shared_crew)
    return shared_crew


@pytest.fixture
def lookout() -> Iterator[Lookout]:
    beacon = new_lookout()
    yield beacon
    beacon.close()
