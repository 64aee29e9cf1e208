"""Pictures: what a grid becomes, and what is refused."""

from typing import Any

import pytest

from arena.errors import PictureError
from arena.games.pictures import (
    HEXES,
    POINTS,
    SQUARES,
    Cell,
    Circle,
    Grid,
    Line,
    Picture,
    Polygon,
    Rect,
    Side,
    Text,
    check_picture,
)

PHONE_BOARD, READABLE = 314, 10
"""Pixels: the width of a drawing on a phone of 360, and the least height of its letters."""
SIDES = (Side("black", "black"), Side("white", "white", "ring"))


def _grid(text: str, **options: Any) -> Grid:
    kinds = {"x": Cell(0), "o": Cell(1), ".": Cell(), "#": Cell(shade="dark")}
    rows = tuple(tuple(kinds[letter] for letter in row) for row in text.split())
    return Grid(rows, "abc", ("2", "1"), SIDES, **options)


def test_a_grid_tells_where_its_pieces_stand() -> None:
    assert _grid("x.x .o.").list_pieces() == "Black: a2, c2. White: b1."
    assert _grid("... ...").list_pieces() == ""


@pytest.mark.parametrize(("form", "kind"), [(SQUARES, Rect), (HEXES, Polygon)])
def test_cells_are_squares_or_hexes(form: str, kind: type[Any]) -> None:
    shapes = check_picture(_grid("x.x .o.", form=form).draw_cells()).shapes
    assert sum(isinstance(shape, kind) for shape in shapes) == 6
    assert sum(isinstance(shape, Circle) for shape in shapes) == 3
    assert [shape.text for shape in shapes if isinstance(shape, Text)] == ["a", "b", "c", "2", "1"]


@pytest.mark.parametrize("n", [3, 11, 19])
def test_the_labels_of_a_board_can_be_read_on_a_phone(n: int) -> None:
    rows = ((Cell(),) * n,) * n
    names = "abcdefghijklmnopqrs"[:n]
    picture = Grid(rows, names, tuple(map(str, range(1, n + 1))), SIDES, form=HEXES).draw_cells()
    labels = [shape for shape in picture.shapes if isinstance(shape, Text)]
    assert all(label.size * PHONE_BOARD / picture.width >= READABLE for label in labels)
    assert len({(label.x, label.y) for label in labels}) == 2 * n


def test_crossings_are_lines_on_one_board_with_dots() -> None:
    shapes = check_picture(_grid("x.# ...", form=POINTS).draw_cells()).shapes
    assert sum(isinstance(shape, Line) for shape in shapes) == 5
    assert sum(isinstance(shape, Rect) for shape in shapes) == 1
    assert sum(isinstance(shape, Circle) for shape in shapes) == 2


def _count_new(before: Grid, after: Grid) -> int:
    return sum(getattr(shape, "tint", "") == "new" for shape in after.draw_cells(before).shapes)


def test_a_new_piece_is_marked_and_one_that_changed_sides_is_not() -> None:
    assert _count_new(_grid("x.. ..."), _grid("o.x ...")) == 1


def test_where_pieces_move_both_ends_are_marked() -> None:
    before = _grid("x.. o..", has_moving_pieces=True)
    assert _count_new(before, _grid("... x..", has_moving_pieces=True)) == 2


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        ("svg", "must return"),
        (Picture(10, 0, ()), "wide and high"),
        (Picture(float("inf"), 10, ()), "no size"),
        (Picture(10, 10, (None,)), "no shape"),  # type: ignore[arg-type]
        (Picture(10, 10, (Circle(1, 1, 1, "pink"),)), "no tint 'pink'"),
        (Picture(10, 10, (Circle(1, 1, "1", "red"),)), "no size"),  # type: ignore[arg-type]
        (Picture(10, 10, (Polygon(((1, float("nan")),), "red"),)), "no size"),
        (Picture(10, 10, (Polygon(((1, 1),) * 100_000, "red"),)), "100,000 points are more"),
        (Picture(10, 10, (Text(1, 1, "x" * 81, 3),)), "80 characters"),
        (Picture(10, 10, (Circle(1, 1, 1, "red"),) * 3_001), "3,001 shapes"),
        (Picture(10, 10, (), (Side("x", "pink"),)), "no tint"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(picture: Any, words: str) -> None:
    with pytest.raises(PictureError, match=words):
        check_picture(picture)


def test_points_may_be_a_list_and_what_is_no_shape_is_refused() -> None:
    points = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    triangle = Polygon(points, "ink")  # type: ignore[arg-type]  # as a plug-in may have it
    assert check_picture(Picture(9, 9, (triangle,))).shapes == (triangle,)
    wrongs: tuple[Any, ...] = ([], "x")
    for wrong in wrongs:
        with pytest.raises(PictureError, match="is no shape"):
            check_picture(Picture(9, 9, (wrong,)))
