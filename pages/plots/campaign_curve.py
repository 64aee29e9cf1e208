"""What a campaign said as evidence came, to be drawn: a probability, or a likelihood ratio.

A campaign is judged when its evidence has grown by a tenth, so its points are few however much it
plays.
"""

from collections.abc import Sequence
from typing import NamedTuple

from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign, CampaignPoint
from matches.store.formats import format_percent
from pages.plots.charts import (
    MAX_DOTS,
    MIN_POINTS,
    Scale,
    Tick,
    join_points,
    list_round,
    place_across,
)

HEIGHT = 220
N_POINTS = 400
N_LEVELS = 4
# The scale of a ratio goes a little beyond its bounds.
_BEYOND = 1.15
_TENTHS = 10


class Level(NamedTuple):
    """A line across: pixels down, and what it means; is_bound: the campaign ends there."""

    at: float
    label: str
    is_bound: bool


class Point(NamedTuple):
    """What was said after so many results: percent across, pixels down, and in words."""

    x: float
    y: float
    n_results: str
    said: str


class Curve(NamedTuple):
    """The points in the order of the evidence, and what they are read against."""

    caption: str
    points: list[Point]
    line: str
    levels: list[Level]
    ticks: list[Tick]
    start: str
    height: int = HEIGHT

    @property
    def is_early(self) -> bool:
        """Return True where words stand instead of a curve."""
        return len(self.points) < MIN_POINTS

    @property
    def has_dots(self) -> bool:
        """Return True where each point is seen."""
        return len(self.points) <= MAX_DOTS


def draw_campaign(campaign: Campaign) -> Curve | None:
    """Return the curve of a campaign, None before it was judged: one query of bounded size."""
    # The newest ones, drawn from left to right: of a very long campaign the beginning is cut off.
    newest = CampaignPoint.objects.filter(campaign=campaign).order_by("-n_results")[:N_POINTS]
    judged = list(newest)[::-1]
    if not judged:
        return None
    # A campaign begins with the results that are known, and not with none.
    first = judged[0].n_results
    start = min(campaign.n_known, first) if len(judged) < N_POINTS else first
    draw = _draw_test if campaign.question == IS_SPRT else _draw_chances
    return draw(campaign, judged, start)


def _draw_chances(campaign: Campaign, judged: Sequence[CampaignPoint], start: int) -> Curve:
    bound = 1 - campaign.error
    chances = [point.probability for point in judged]
    # From the round tenth below all that was said: where many agents are asked about, from near 0.
    low = int(_TENTHS * min(bound, *chances)) / _TENTHS
    scale = Scale(low, 1.0, height=HEIGHT)
    levels = [
        Level(scale.place(share), f"{100 * share:.3g} %", is_bound=False)
        for share in list_round(low, 1.0, N_LEVELS)
    ]
    label = f"asked for: {format_percent(bound)}"
    levels.append(Level(scale.place(bound), label, is_bound=True))
    values = [(chance, format_percent(chance)) for chance in chances]
    caption = "Probability of the likeliest answer by the results known"
    return _draw_curve(caption, judged, values, scale, levels, start)


def _draw_test(campaign: Campaign, judged: Sequence[CampaignPoint], start: int) -> Curve:
    test = read_test(campaign.parameters)
    ratios = [point.llr or 0.0 for point in judged]
    low, high = _BEYOND * min(test.lower, *ratios), _BEYOND * max(test.upper, *ratios)
    scale = Scale(low, high, height=HEIGHT)
    levels = [Level(tick.at, tick.label, is_bound=False) for tick in scale.list_ticks(N_LEVELS)]
    levels += [
        Level(scale.place(test.upper), f"accepted at {test.upper:.2f}", is_bound=True),
        Level(scale.place(test.lower), f"rejected at {test.lower:.2f}", is_bound=True),
    ]
    values = [(ratio, f"{ratio:+.2f}") for ratio in ratios]
    caption = "Log-likelihood ratio of the test by the results known"
    return _draw_curve(caption, judged, values, scale, levels, start)


def _draw_curve(
    caption: str,
    judged: Sequence[CampaignPoint],
    values: Sequence[tuple[float, str]],
    scale: Scale,
    levels: list[Level],
    start: int,
) -> Curve:
    end = max(judged[-1].n_results, start + 1)

    def place(n_results: float) -> float:
        return place_across((n_results - start) / (end - start))

    points = [
        Point(place(point.n_results), scale.place(value), f"{point.n_results:,}", words)
        for point, (value, words) in zip(judged, values, strict=True)
    ]
    apart = (end - start) / _TENTHS
    # The start has its mark whether it is round or not; a round one close by gives way.
    clear = [mark for mark in list_round(start, end) if not mark % 1 and mark - start >= apart]
    ticks = [Tick(place(mark), f"{mark:,.0f}") for mark in (start, *clear)]
    line = join_points((point.x, point.y) for point in points)
    return Curve(caption, points, line, levels, ticks, f"{start:,}")
