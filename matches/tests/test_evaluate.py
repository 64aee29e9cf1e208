"""The levels of the test game's agents."""

from matches.ledger.evaluation import draw_levels


def test_levels_are_drawn_from_the_seed() -> None:
    assert draw_levels(1, 50) == draw_levels(1, 50)
    assert draw_levels(1, 50) != draw_levels(2, 50)
    assert set(draw_levels(1, 5_000)) == set(range(100))
