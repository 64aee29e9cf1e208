"""Draws docs/architecture.svg from the tree: `python docs/picture.py` (a test compares the two).

Rooms stand in the rows that the import contracts of pyproject.toml give them; an arrow says that a
file of the upper room imports one of the lower. Left out are tests, migrations, and arrows that
follow from others: who imports control may reach all that control imports.
"""

import sys
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
APP = "matches"
"""The package that is drawn room by room, in a frame of its own."""
LEFT_OUT = {"tests", "migrations", "apps"}
WIDTH, BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, FRAME = 1040, 124, 34, 78, 18
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#18212b}"
    ".box{fill:#e6f4f1;stroke:#0f766e}.frame{fill:none;stroke:#8a99a8;stroke-dasharray:5 4}"
    ".arrow{fill:none;stroke:#52606d;stroke-width:1.1;opacity:.8;marker-end:url(#head)}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#123a37}.arrow{stroke:#9fb0c0}}"
)
HEAD = (
    '<marker id="head" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" '
    'orient="auto"><path d="M0 0 6 3 0 6z" fill="#52606d"/></marker>'
)


@dataclass(frozen=True)
class Box:
    """A room and where it is drawn: the middle of its upper edge, in pixels."""

    name: str
    x: float
    y: float

    @property
    def foot(self) -> float:
        """Return where arrows begin."""
        return self.y + BOX_HEIGHT


def read_layers(contract: str) -> list[list[str]]:
    """Return the rows of a layers contract, the uppermost first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(each["layers"] for each in settings["contracts"] if each["name"] == contract)
    rows = [[name.strip(" ()") for name in layer.split("|")] for layer in layers]
    return [kept for row in rows if (kept := [name for name in row if name not in LEFT_OUT])]


def list_rows() -> list[list[str]]:
    """Return all rows of the picture: the packages, with the rooms of the app where it stands."""
    rows: list[list[str]] = []
    for row in read_layers("Imports go one way"):
        is_app = row == [APP]
        inner = [[f"{APP}.{room}" for room in each] for each in read_layers("Inside matches")]
        rows.extend(inner if is_app else [row])
    return rows


def place_boxes(rows: list[list[str]]) -> dict[str, Box]:
    """Return the box of every room, those of a row side by side."""
    boxes = {}
    for number, row in enumerate(rows):
        for column, name in enumerate(row):
            x = WIDTH * (column + 1) / (len(row) + 1)
            boxes[name] = Box(name, x, FRAME + number * ROW_HEIGHT)
    return boxes


def find_arrows(rooms: set[str]) -> list[tuple[str, str]]:
    """Return which room imports which, by the imports of all files."""
    packages = sorted({room.partition(".")[0] for room in rooms})
    graph = grimp.build_graph(packages[0], *packages[1:], cache_dir=None)
    modules = {module: room for module in graph.modules if (room := find_room(module, rooms))}
    room_pairs = {
        (room, modules[imported])
        for module, room in modules.items()
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in modules
    }
    return sorted(keep_needed({pair for pair in room_pairs if pair[0] != pair[1]}))


def keep_needed(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows without those that a longer way replaces; there is no circle."""
    lower: dict[str, set[str]] = {}
    for one, other in arrows:
        lower.setdefault(one, set()).add(other)

    def reach(room: str) -> set[str]:
        below = lower.get(room, set())
        return below.union(*map(reach, below))

    return {
        (one, other)
        for one, other in arrows
        if not any(other in reach(between) for between in lower[one] - {other})
    }


def find_room(module: str, rooms: set[str]) -> str:
    """Return the room of a module, "" for a test or a migration."""
    parts = module.split(".")
    if LEFT_OUT & set(parts):
        return ""
    return next((room for room in (".".join(parts[:2]), parts[0]) if room in rooms), "")


def draw() -> str:
    """Return the picture as SVG."""
    rows = list_rows()
    boxes = place_boxes(rows)
    height = FRAME + len(rows) * ROW_HEIGHT
    app = [box for box in boxes.values() if box.name.startswith(f"{APP}.")]
    top, bottom = min(box.y for box in app) - 14, max(box.foot for box in app) + 14
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="The rooms of evalsite and who imports whom">',
            f"<style>{STYLE}</style><defs>{HEAD}</defs>",
            f'<rect class="frame" x="8" y="{top:.0f}" width="{WIDTH - 16}" '
            f'height="{bottom - top:.0f}" rx="10"/><text x="20" y="{top + 20:.0f}">{APP}</text>',
            *(draw_arrow(boxes[one], boxes[other]) for one, other in find_arrows(set(boxes))),
            *(draw_box(box) for box in boxes.values()),
            "</svg>\n",
        ]
    )


def draw_arrow(one: Box, other: Box) -> str:
    """Return a curve from the foot of a box to the head of another."""
    bend = (other.y - one.foot) / 2
    return (
        f'<path class="arrow" d="M{one.x:.0f} {one.foot:.0f}C{one.x:.0f} {one.foot + bend:.0f} '
        f'{other.x:.0f} {other.y - bend:.0f} {other.x:.0f} {other.y - 2:.0f}"/>'
    )


def draw_box(box: Box) -> str:
    """Return a box with its name."""
    left = box.x - BOX_WIDTH / 2
    label = escape(box.name.removeprefix(f"{APP}."))
    return (
        f'<rect class="box" x="{left:.0f}" y="{box.y:.0f}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="6"/>'
        f'<text x="{box.x:.0f}" y="{box.y + 22:.0f}" text-anchor="middle">{label}</text>'
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PICTURE.write_text(draw())
