"""Crews of real players."""

from collections.abc import Iterator

import pytest

from workers.crew import Crew
from workers.tests.fake_player import COMMAND


@pytest.fixture(scope="session")
def shared_crew() -> Iterator[Crew]:
    crew = Crew(2, command=COMMAND)
    yield crew
    crew.close()


@pytest.fixture
def crew(shared_crew: Crew) -> Crew:
    """Two real players that outlive the test, as they outlive an order."""
    shared_crew.fill()
    return shared_crew
