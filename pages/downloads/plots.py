"""The plots of a page as pictures that stand alone, in light colours and a style of their own.

A page paints its plots by style sheets, with measures that a script sets; programs that draw or
print take neither, so both are written into the picture.
"""

import re
from html import escape as escape_markup
from html.parser import HTMLParser
from typing import Final, NamedTuple

WIDTH, NAMES, HEIGHT, HEAD = 960, 150, 120, 28
"""Pixels: the drawing, names beside it, the height of a plot that does not say it, the title."""
SERIES: Final = ("#0f766e", "#b4532a", "#4c5fb8", "#96650a", "#a33f7f", "#4d6b1f")
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#625f58}.head{font-size:14px;fill:#1d1c1a}"
    ".step{text-anchor:middle}line{stroke:#e3e0d8}"
    ".compared line{stroke:#625f58;stroke-dasharray:2 5}"
    "polyline,path{fill:none;stroke:#0f766e;stroke-width:2;vector-effect:non-scaling-stroke}"
    "polygon,.band{fill:#0f766e;stroke:none;opacity:.12}.pace{fill:#9fd3cb}"
    ".way line{stroke:#0f766e;stroke-width:1.5;opacity:.55}.range{stroke:#9fd3cb;stroke-width:8}"
    ".mode,.judged{fill:#0f766e;stroke:#fffefb;stroke-width:1.5}"
    ".bound line{stroke:#8a5c06;stroke-dasharray:5 4}.bound text{fill:#8a5c06}"
) + "".join(
    f"polyline.series-{n}{{stroke:{colour}}}polygon.series-{n}{{fill:{colour}}}"
    f".series-{n} line{{stroke:{colour}}}.series-{n} .mode,text.series-{n}{{fill:{colour}}}"
    f".series-{n} .range{{stroke:{colour};opacity:.22}}"
    for n, colour in enumerate(SERIES, 1)
)
TINTS: Final = {
    **{"black": "#1d1c1a", "white": "#fffefb", "red": "#b4432f", "blue": "#2563b8"},
    **{"yellow": "#d99a00", "green": "#2f7d4a", "ink": "#1d1c1a"},
}
SEATS: Final = ".edge-black,.edge-white{stroke:#625f58;stroke-width:4.5}" + "".join(
    f"polyline.line-{tint}{{stroke:{colour}}}path.fill-{tint}{{fill:{colour};stroke:#625f58;stroke-width:.5}}"
    for tint, colour in TINTS.items()
)
"""The colours of seats, as static/evalsite/replay.css has them in the light."""
# The reader of HTML writes names small; a picture by itself is XML.
CAPITALS: Final = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}
SHAPES: Final = re.compile("svg|g|a|line|text|tspan|poly(line|gon)|path|rect|circle|ellipse|title")
KEPT: Final = re.compile(
    "[xyrd]|[xy][12]|[dcr][xy]|width|height|points|class|viewbox|transform|preserveaspectratio"
    "|vector-effect|stroke-width|font-size|text-anchor"
)
MEASURE: Final = re.compile(r"--at:\s*(-?[\d.]+)px")
CAPTIONS: Final = ("figcaption", "h2")
# XML has no way to write them.
NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
PICTURE_CLASS: Final = "drawn"
"""Of positions in a replay: those are no plots."""


class Plot(NamedTuple):
    """A plot of a page: what it shows, and the picture of it.

    name: its id, where it has one; heading: that of its part of the page, if any.
    """

    title: str
    svg: str
    name: str = ""
    heading: str = ""


def read_plots(html: str) -> list[Plot]:
    """Return the plots of a page in their order."""
    reader = _Reader()
    reader.feed(html)
    drawn = zip(reader.plots, reader.names, reader.headings, strict=True)
    return [
        Plot(title, _format_frame(title, height, parts), name, heading)
        for (title, height, parts), name, heading in drawn
    ]


def escape(text: str) -> str:
    """Return a text as XML has it."""
    return escape_markup(NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _format_frame(title: str, height: float, parts: list[str]) -> str:
    whole, tall = WIDTH + NAMES, height + HEAD
    head = f'<text class="head" x="4" y="18">{escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{tall:g}" '
        f'viewBox="0 0 {whole} {tall:g}" role="img"><title>{escape(title)}</title>'
        f'<style>{STYLE}{SEATS}</style><rect width="100%" height="100%" fill="#fffefb"/>{head}'
        f'<g transform="translate(0 {HEAD})">{"".join(parts)}</g></svg>\n'
    )


class _Reader(HTMLParser):
    """Gathers the plots: title, height, and their elements as XML."""

    def __init__(self) -> None:
        super().__init__()
        self.plots: list[tuple[str, float, list[str]]] = []
        self.names: list[str] = []
        self.headings: list[str] = []
        self._heading = ""
        self._captions: dict[str, str] = {}
        self._caption = ""
        self._open: list[tuple[str, str]] = []
        """The open elements of a plot: tag on the page and in the picture, empty: left out."""
        self._is_skipped = False
        self._name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if self._open:
            self._open_shape(tag, attributes)
        elif tag == "svg":
            self._begin_plot(attributes)
        elif tag in CAPTIONS:
            self._caption = attributes.get("id", tag)
            # Anew at its end: the last of them is the nearest.
            self._captions.pop(self._caption, None)
            self._captions[self._caption] = ""
        elif (
            tag == "span" and self.plots and (at := MEASURE.search(attributes.get("data-vars", "")))
        ):
            hidden = "hidden" in attributes
            self._name = (
                "" if hidden else f'class="{escape(attributes.get("class", ""))}" y="{at[1]}"'
            )

    def handle_data(self, data: str) -> None:
        if self._open:
            if self._open[-1][1] and not self._is_skipped:
                self.plots[-1][2].append(escape(data.strip()))
        elif self._name:
            text = f'<text x="{WIDTH + 8}" dy="4" {self._name}>{escape(data.strip())}</text>'
            self.plots[-1][2].append(text)
            self._name = ""
        elif self._caption:
            self._captions[self._caption] += data

    def handle_endtag(self, tag: str) -> None:
        if not self._open:
            if tag == "h2":
                self._heading = self._captions.get(self._caption, "")
            self._caption = "" if tag in CAPTIONS else self._caption
        elif self._open[-1][0] == tag:
            _, tag_written = self._open.pop()
            if tag_written and not self._is_skipped:
                self.plots[-1][2].append(f"</{tag_written}>")

    def _begin_plot(self, attributes: dict[str, str]) -> None:
        self._is_skipped = PICTURE_CLASS in attributes.get("class", "").split()
        # What follows speaks of the page: where the same stands in words or numbers.
        label = attributes.get("aria-label", "").partition(";")[0]
        title = label or self._captions.get(attributes.get("aria-labelledby", ""), "")
        title = " ".join((title or next(reversed(self._captions.values()), "")).split())
        height = attributes.get("height", "")
        is_known = re.fullmatch(r"[\d.]+", height) is not None
        if not self._is_skipped:
            self.plots.append((title, float(height) if is_known else HEIGHT, []))
            self.names.append(attributes.get("id", ""))
            # A label needs no heading: it is a title by itself.
            self.headings.append("" if label else " ".join(self._heading.split()))
        size = {"width": str(WIDTH), "height": height if is_known else str(HEIGHT)}
        self._open_shape("svg", attributes | size)

    def _open_shape(self, tag: str, attributes: dict[str, str]) -> None:
        is_left_out = not SHAPES.fullmatch(tag) or "hidden" in attributes
        is_left_out = is_left_out or bool(self._open and not self._open[-1][1])
        tag_written = "" if is_left_out else "g" if tag == "a" else tag
        self._open.append((tag, tag_written))
        if not tag_written or self._is_skipped:
            return
        shape_attributes = {
            CAPITALS.get(name, name): attributes[name]
            for name in attributes
            if KEPT.fullmatch(name)
        }
        if at := MEASURE.search(attributes.get("data-vars", "")):
            shape_attributes["transform"] = f"translate(0 {at[1]})"
        texts = "".join(f' {name}="{escape(value)}"' for name, value in shape_attributes.items())
        self.plots[-1][2].append(f"<{tag_written}{texts}>")
