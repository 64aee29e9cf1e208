"""The tables and plots of a page as it was rendered: every table can be had, also the next one."""

import re
from html.parser import HTMLParser
from typing import Final, NamedTuple

from pages.downloads.files import Column, Line

MINUS: Final = "\N{MINUS SIGN}"
DASH: Final = "\N{EN DASH}"
# With a 0 before it, or longer than 64 bits, it is no number but the name of something.
NUMBER: Final = re.compile(
    rf"[-+{MINUS}]?(0|[1-9]\d{{0,2}}(,\d{{3}}){{1,5}}|[1-9]\d{{0,17}})(\.\d+)?", re.ASCII
)
NOTHING: Final = ("", "-", DASH)
HEADINGS: Final = ("h2", "h3")
SPACES: Final = re.compile(r"\s+")


class PageTable(NamedTuple):
    """A table of a page: its caption, the names over its columns, its cells as they are written.

    name: its id on the page, where it has one; heading: that of its part of the page, if any.
    """

    caption: str
    names: list[str]
    rows: list[list[str]]
    name: str = ""
    heading: str = ""


def read_tables(html: str) -> list[PageTable]:
    """Return the tables of a page in their order."""
    reader = _Reader()
    reader.feed(html)
    return reader.tables


def type_table(table: PageTable) -> tuple[list[Column], list[Line]]:
    """Return its columns and lines: a column that holds nothing but numbers has numbers."""
    width = max([len(table.names), *map(len, table.rows)], default=0)
    texts = [row + [""] * (width - len(row)) for row in table.rows]
    columns, values = [], []
    for place in range(width):
        kind, cells = _type_cells([row[place] for row in texts])
        columns.append(Column(_name_column(table.names, place), kind))
        values.append(cells)
    return columns, [list(line) for line in zip(*values, strict=True)]


def _name_column(names: list[str], place: int) -> str:
    name = names[place] if place < len(names) else ""
    return f"{name or 'column'} {place + 1}" if not name or name in names[:place] else name


def _type_cells(texts: list[str]) -> tuple[type, list[str | int | float | None]]:
    filled = [text for text in texts if text not in NOTHING]
    if not filled or not all(NUMBER.fullmatch(text) for text in filled):
        return str, [text or None for text in texts]
    kind = float if any("." in text for text in filled) else int
    plain = [text.replace(",", "").replace(MINUS, "-") for text in texts]
    return kind, [None if text in NOTHING else kind(text) for text in plain]


class _Reader(HTMLParser):
    """Gathers the cells of tables; a table in a cell of another is a part of that cell."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[PageTable] = []
        self._depth = 0
        self._texts: list[str] | None = None
        self._span = 1
        self._row: list[str] = []
        self._is_head = False
        # The headings of the sections that are open, from the page inwards.
        self._headings = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                name = dict(attrs).get("id") or ""
                heading = next(filter(None, reversed(self._headings)), "")
                self.tables.append(PageTable("", [], [], name, heading))
        if not self._depth and tag in HEADINGS:
            self._texts = []
        elif tag == "section":
            self._headings.append("")
        if self._depth != 1:
            return
        if tag in ("th", "td", "caption"):
            self._texts = []
            span = dict(attrs).get("colspan") or "1"
            self._span = int(span) if span.isdecimal() else 1
        elif tag == "tr":
            self._row = []
        elif tag == "thead":
            self._is_head = True

    def handle_data(self, data: str) -> None:
        if self._texts is not None:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._depth -= 1
        if not self._depth and tag in HEADINGS:
            self._headings[-1] = self._take_text()
        elif tag == "section" and len(self._headings) > 1:
            self._headings.pop()
        if self._depth != 1:
            return
        if tag in ("th", "td", "caption") and self._texts is not None:
            text = self._take_text()
            if tag == "caption":
                self.tables[-1] = self.tables[-1]._replace(caption=text)
            else:
                self._row += [text] + [""] * (self._span - 1)
        elif tag == "thead":
            self._is_head = False
        elif tag == "tr" and self._row:
            if self._is_head:
                self.tables[-1] = self.tables[-1]._replace(names=self._row)
            else:
                self.tables[-1].rows.append(self._row)

    def _take_text(self) -> str:
        text = SPACES.sub(" ", " ".join(self._texts or ())).strip()
        self._texts = None
        return text
