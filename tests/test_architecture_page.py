"""docs/architecture.md names files that exist, and its picture shows the tree as it is."""

import re

from docs.picture import PICTURE, draw, find_arrows, keep_needed, list_rows
from launcher.folders import ROOT

PAGE = ROOT / "docs" / "architecture.md"


def test_every_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py|\.js|/))`", PAGE.read_text()))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_picture_is_of_this_tree() -> None:
    assert draw() == PICTURE.read_text(), "draw it again: python docs/picture.py"


def test_every_arrow_points_down() -> None:
    row_of = {name: number for number, row in enumerate(list_rows()) for name in row}
    arrows = find_arrows(set(row_of))
    assert len(arrows) > len(row_of)
    assert [pair for pair in arrows if row_of[pair[0]] >= row_of[pair[1]]] == []


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    assert keep_needed({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
