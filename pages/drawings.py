"""SVG from the shapes that games draw with; nothing of a game's file reaches a page as markup."""

from collections.abc import Callable
from functools import lru_cache
from html import escape
from typing import Any, Final

from django.utils.safestring import SafeString, mark_safe

from arena.games.pictures import Circle, Line, Picture, Polygon, Rect, Shape, Side, Text, draw_piece

ICON: Final = 10
"""The width of a piece that stands beside a name, in the units of a cell."""


# By type, too: a rectangle and a line of the same numbers are equal tuples.
@lru_cache(maxsize=20_000, typed=True)
def draw_shape(shape: Shape) -> str:
    """Return a checked shape as an element; most of a frame's shapes were in the one before."""
    return _WRITERS[type(shape)](shape)


def draw_svg(shapes: list[str]) -> SafeString:
    """Return the elements as they stand between the tags of an SVG."""
    return mark_safe("".join(shapes))  # every one is made here, from numbers and escaped words


def draw_icon(side: Side) -> SafeString:
    """Return the piece of a side, centred in a square of ICON."""
    half = ICON / 2
    return draw_svg([draw_shape(shape) for shape in draw_piece(half, half, side.piece, side.tint)])


def box_of(picture: Picture) -> str:
    """Return the viewBox of a picture."""
    return f"0 0 {picture.width:g} {picture.height:g}"


def _write_rect(shape: Rect) -> str:
    corner = f' rx="{shape.corner:g}"' if shape.corner else ""
    place = f'x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}"'
    return f'<rect class="fill-{shape.tint}" {place}{corner}/>'


def _write_circle(shape: Circle) -> str:
    place = f'cx="{shape.x:g}" cy="{shape.y:g}" r="{shape.radius:g}"'
    if shape.width:
        return f'<circle class="line-{shape.tint}" {place} stroke-width="{shape.width:g}"/>'
    return f'<circle class="fill-{shape.tint}" {place}/>'


def _write_line(shape: Line) -> str:
    place = f'x1="{shape.x:g}" y1="{shape.y:g}" x2="{shape.to_x:g}" y2="{shape.to_y:g}"'
    return f'<line class="line-{shape.tint}" {place} stroke-width="{shape.width:g}"/>'


def _write_text(shape: Text) -> str:
    place = f'x="{shape.x:g}" y="{shape.y:g}" font-size="{shape.size:g}"'
    return f'<text class="text-{shape.tint}" {place}>{escape(shape.text)}</text>'


def _write_polygon(shape: Polygon) -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in shape.points)
    return f'<polygon class="fill-{shape.tint}" points="{points}"/>'


_WRITERS: Final[dict[type[Any], Callable[[Any], str]]] = {
    Rect: _write_rect,
    Circle: _write_circle,
    Line: _write_line,
    Text: _write_text,
    Polygon: _write_polygon,
}
