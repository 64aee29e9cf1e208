"""A whole stack for the tests that cross packages: real servers, workers and supervisor."""

from collections.abc import Iterator

import pytest

from evalsite.stack import Stack, start_stack


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Run two play nodes of two slots for the session, without pages."""
    with start_stack(tmp_path_factory.mktemp("cluster") / "var", nodes=2, slots=2) as running:
        yield running
