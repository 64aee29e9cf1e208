"""What a gate says: in a line, as JSON for programs and as markdown for people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from arena.verdicts.paired_blocks import POINTS, compare_blocks
from matches.campaigns import texts
from matches.campaigns.gates import Standing

Forecast = Mapping[str, Any] | None
"""What is left to the verdict; None once there is one."""


def line(found: Standing) -> str:
    """Return where the test stands."""
    state, forecast = found.state, found.campaign.forecast
    said = (
        f"LLR {state.llr:+.2f} ({state.lower:+.2f}, {state.upper:+.2f}), {state.n_games} games in "
        f"blocks {found.counts}, {found.n_reused} of them known before"
    )
    if found.campaign.decided_at is not None or not (forecast and forecast["matches"]):
        return said
    return f"{said}, about {texts.rounded(forecast['matches'])} more"


def foreseen(forecast: Forecast) -> Iterator[str]:
    """Yield what the test will take."""
    for label, says in texts.expected(forecast):
        yield f"  {label}: {says}"


def as_json(found: Standing, names: Sequence[str], said: str, *, at: datetime) -> dict[str, Any]:
    """Return all of it. names: of candidate and baseline. said: PASS, FAIL or UNDECIDED."""
    campaign, state, blocks = found.campaign, found.state, compare_blocks(found.counts)
    return {
        "result": said.lower(),
        "candidate": names[0],
        "baseline": names[1],
        "llr": state.llr,
        "lower": state.lower,
        "upper": state.upper,
        "n_games": state.n_games,
        "n_reused": found.n_reused,
        "n_known": campaign.n_known,
        "n_known_elsewhere": campaign.n_known_elsewhere,
        "n_not_played_again": campaign.tournament.n_known,
        "blocks": found.counts,
        "pairs": None if blocks is None else asdict(blocks),
        "forecast_before": found.before,
        "forecast": found.left,
        "statement": campaign.statement,
        "why": campaign.why,
        "tournament": campaign.tournament_id,
        "parameters": campaign.parameters,
        "at": at.isoformat(),
    }


def as_markdown(found: Standing, names: Sequence[str], said: str) -> str:
    """Return a summary: the test, its blocks, what they say and, while undecided, what is left."""
    state, parameters = found.state, found.campaign.parameters
    elo = f"{parameters['elo0']:g} against {parameters['elo1']:g} Elo ({parameters['model']})"
    return "\n".join(
        (
            f"### {said}: {names[0]} against {names[1]}",
            "",
            "| test | LLR | bounds | games | known before |",
            "|---|---|---|---|---|",
            f"| {elo} | {state.llr:+.2f} | {state.lower:+.2f}, {state.upper:+.2f} "
            f"| {state.n_games} | {found.n_reused} |",
            *_saved(found),
            *_blocks(found),
            *_left(found.left),
        )
    )


def _saved(found: Standing) -> Iterator[str]:
    """Yield how many matches the test did not have to play."""
    if saved := texts.saved(found.campaign):
        yield ""
        yield f"Saved: {saved}."


def _blocks(found: Standing) -> Iterator[str]:
    """Yield the table of the blocks and what they say."""
    said = compare_blocks(found.counts)
    if said is None:
        return
    yield ""
    yield f"| points of two games | {' | '.join(POINTS)} |"
    yield "|---" * (len(POINTS) + 1) + "|"
    yield f"| blocks | {' | '.join(map(str, found.counts))} |"
    lines = texts.paired(said)
    yield ""
    yield f"| {' | '.join(one.label for one in lines)} |"
    yield "|---" * len(lines) + "|"
    yield f"| {' | '.join(one.says for one in lines)} |"


def _left(forecast: Forecast) -> Iterator[str]:
    if forecast is None:
        return
    yield ""
    yield "Left to the verdict:"
    for label, says in texts.expected(forecast):
        yield f"- {label}: {says}"
