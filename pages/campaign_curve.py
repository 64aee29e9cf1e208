"""What a campaign said as evidence came, to be drawn: a probability, or a likelihood ratio.

A campaign is judged when its evidence has grown by a tenth, so its points are few however much it
plays.
"""

from collections.abc import Sequence
from typing import NamedTuple

from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign, CampaignPoint
from matches.store.explanation import format_percent
from pages.charts import Scale, Tick, join_points, place_across

HEIGHT = 220
N_POINTS = 400
N_TICKS = 4
# The scale of a ratio goes a little beyond its bounds.
_BEYOND = 1.15


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
    height: int = HEIGHT


def draw_campaign(campaign: Campaign) -> Curve | None:
    """Return the curve of a campaign, None before it was judged: one query of bounded size."""
    # The newest ones, drawn from left to right: of a very long campaign the beginning is cut off.
    newest = CampaignPoint.objects.filter(campaign=campaign).order_by("-n_results")[:N_POINTS]
    judged = list(newest)[::-1]
    if not judged:
        return None
    if campaign.question == IS_SPRT:
        return _draw_test(campaign, judged)
    scale, bound = Scale(0.0, 1.0, height=HEIGHT), 1 - campaign.error
    levels = [Level(scale.place(share), f"{100 * share:.0f} %", False) for share in (0.0, 0.5, 1.0)]
    levels.append(Level(scale.place(bound), f"asked for: {format_percent(bound)}", True))
    values = [(point.probability, format_percent(point.probability)) for point in judged]
    caption = "Probability of the likeliest answer by the results known"
    return _draw_curve(caption, judged, values, scale, levels)


def _draw_test(campaign: Campaign, judged: Sequence[CampaignPoint]) -> Curve:
    test = read_test(campaign.parameters)
    ratios = [point.llr or 0.0 for point in judged]
    low, high = _BEYOND * min(test.lower, *ratios), _BEYOND * max(test.upper, *ratios)
    scale = Scale(low, high, height=HEIGHT)
    levels = [
        Level(scale.place(0.0), "0", False),
        Level(scale.place(test.upper), f"accepted at {test.upper:.2f}", True),
        Level(scale.place(test.lower), f"rejected at {test.lower:.2f}", True),
    ]
    values = [(ratio, f"{ratio:+.2f}") for ratio in ratios]
    caption = "Log-likelihood ratio of the test by the results known"
    return _draw_curve(caption, judged, values, scale, levels)


def _draw_curve(
    caption: str,
    judged: Sequence[CampaignPoint],
    values: Sequence[tuple[float, str]],
    scale: Scale,
    levels: list[Level],
) -> Curve:
    n_most = max(judged[-1].n_results, 1)
    points = [
        Point(
            place_across(point.n_results / n_most),
            scale.place(value),
            f"{point.n_results:,}",
            words,
        )
        for point, (value, words) in zip(judged, values, strict=True)
    ]
    # A set: of few results several marks round to the same number.
    marks = sorted({round(n_most * place / (N_TICKS - 1)) for place in range(N_TICKS)})
    ticks = [Tick(place_across(mark / n_most), f"{mark:,}") for mark in marks]
    line = join_points((point.x, point.y) for point in points)
    return Curve(caption, points, line, levels, ticks)
