"""The rating systems are the files with a SYSTEM."""

import pytest

from arena.errors import UnknownNameError
from arena.ratings import registry


def test_it_lists_the_files_with_a_system() -> None:
    assert registry.names() == ("freeforall", "settled", "trueskill")


@pytest.mark.parametrize("name", ["base", "elo", ""])
def test_it_refuses_any_other_name(name: str) -> None:
    with pytest.raises(UnknownNameError, match="choose one of freeforall, settled, trueskill"):
        registry.get(name)
