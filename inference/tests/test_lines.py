"""The perceptron over open lines: what it is shown of a position, against counts by hand."""

import pytest
import torch
from torch import Tensor

from inference.architectures import registry
from inference.architectures.catalog.lines import Lines, list_lines, order_sides

# Row 0 is the lowest: three of seat 0 and one of seat 1 beside each other, on each a row of seat 1.
FIRST, SECOND = ((0, 0), (0, 1), (0, 2)), ((0, 3), (1, 0), (1, 1))


def observe(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> Tensor:
    """Return the planes of a board of connect four."""
    planes = torch.zeros(1, 3, 6, 7)
    for plane, cells in enumerate((first, second)):
        for row, column in cells:
            planes[0, plane, row, column] = 1
    planes[0, 2] = 1 - planes[0, :2].sum(0)
    return planes


def build(shape: tuple[int, ...] = (3, 6, 7), n_actions: int = 7, **parameters: int) -> Lines:
    module = registry.get("lines").build(shape, n_actions, parameters)
    assert isinstance(module, Lines)
    return module


def test_connect_four_has_sixty_nine_lines() -> None:
    assert list_lines(6, 7, 4).shape == (69, 42)
    assert list_lines(3, 3, 3).sum(1).tolist() == [3] * 8


def test_the_seat_to_move_comes_first() -> None:
    even, odd = observe(FIRST, SECOND), observe(FIRST, SECOND[:2])
    assert torch.equal(order_sides(even), even[:, :2])
    assert torch.equal(order_sides(odd), odd[:, [1, 0]])


def test_a_column_shows_the_open_lines_through_its_landing_cell_and_the_one_above() -> None:
    counts = 2 * build()._count_lines(order_sides(observe(FIRST, SECOND)))
    # Columns of counts: of 1, 2 and 3 discs, at the landing cell and above, own and other's.
    assert counts.shape == (1, 7, 12)
    own_1, other_1, _, _, own_2, other_2, _, _, own_3, other_3, _, _ = counts[0, 2].tolist()
    # Column 2 lands on (1, 2): one own disc in its column and in the diagonal up from (0, 1); one
    # of the other's in the diagonal down to (0, 3) and in the row from (1, 1), two from (1, 0).
    assert (own_1, own_2, own_3) == (2, 0, 0)
    assert (other_1, other_2, other_3) == (2, 1, 0)


def test_three_in_a_row_are_seen_where_they_are_completed_and_by_whom() -> None:
    three = observe(((0, 0), (0, 1), (0, 2)), ((1, 0), (1, 1), (2, 0)))
    counts = 2 * build()._count_lines(order_sides(three))
    own, others = counts[0, :, 8], counts[0, :, 9]
    assert own.tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert others.sum() == 0
    # One disc more on the board: now it is the other seat that is to move, and to be warned.
    lead = observe(((0, 0), (0, 1), (0, 2)), ((1, 0), (1, 1)))
    counts = 2 * build()._count_lines(order_sides(lead))
    assert counts[0, :, 9].tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_a_logit_of_a_place_sees_its_own_counts() -> None:
    module = build()
    observations = observe(((0, 0), (0, 1), (0, 2)), ((1, 0), (1, 1), (2, 0)))
    before = module(observations, torch.zeros(1, 0))[0]
    assert module.place is not None
    with torch.no_grad():
        module.place.weight[0, 8] += 10  # of a landing cell that completes a line of one's own
    after = module(observations, torch.zeros(1, 0))[0]
    assert (after - before)[0].tolist() == pytest.approx([0, 0, 0, 5, 0, 0, 0], abs=1e-5)


def test_where_actions_are_cells_each_cell_is_a_place() -> None:
    module = build((3, 3, 3), 9)
    # Lines are no longer than the board.
    assert module.lines.shape == (8, 9)
    assert module._count_lines(torch.zeros(1, 2, 3, 3)).shape == (1, 9, 4)
    assert build((3, 6, 7), 5).place is None
