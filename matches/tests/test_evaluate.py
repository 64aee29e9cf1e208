"""The levels of the test game's agents."""

from matches.ledger.evaluation import drawn_levels


def test_levels_are_drawn_from_the_seed() -> None:
    assert drawn_levels(1, 50) == drawn_levels(1, 50)
    assert drawn_levels(1, 50) != drawn_levels(2, 50)
    assert set(drawn_levels(1, 5_000)) == set(range(100))
