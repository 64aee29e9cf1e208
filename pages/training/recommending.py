"""Opponents and teachers of fitting strength on pages: for an agent, or for what a form asks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.http import QueryDict

from arena.ratings.fitting_others import OPPONENT, PURPOSES
from matches.errors import BadInputError
from matches.models import Rating
from matches.models.choices import game_choices
from matches.ratings.recommendations import (
    RecommendationRequest,
    Recommendations,
    describe_rule,
    recommend,
    recommend_near,
)
from pages.lists.address import BadAddressError, Choice, Field, find_agents

N_SHOWN: Final = 3
GAME, AGENT, RATING, PURPOSE = "for", "agent", "rating", "purpose"
LABELS: Final[Mapping[str, str]] = {OPPONENT: "Opponents", "teacher": "Teachers"}


class Fitting(NamedTuple):
    """Who fits for a purpose; rule: by which they were chosen; agent: for whom, if it is one."""

    purpose: str
    label: str
    found: Recommendations
    rule: str
    agent: int | None


def find_fitting(rating: Rating) -> list[Fitting]:
    """Return opponents and teachers of an agent on a leaderboard: four queries."""
    try:
        fitting = [
            (purpose, recommend_near(rating, purpose, limit=N_SHOWN)) for purpose in PURPOSES
        ]
    except BadInputError:
        return []  # nothing is known of it there yet
    return [_describe_fitting(purpose, fits, rating.agent_id) for purpose, fits in fitting]


def answer_form(query: QueryDict) -> dict[str, Any]:
    """Return the form of a wish, and who fits, once it is filled."""
    context: dict[str, Any] = {"wish_fields": _offer_fields(query)}
    if AGENT not in query and RATING not in query:
        return context
    try:
        wish = _read_wish(query)
        context["fitting"] = [_describe_fitting(wish.purpose, recommend(wish), wish.agent)]
    except (BadAddressError, BadInputError) as error:
        context["wish_problem"] = str(error)
    return context


def _describe_fitting(purpose: str, recommendations: Recommendations, agent: int | None) -> Fitting:
    return Fitting(
        purpose,
        LABELS[purpose],
        recommendations,
        describe_rule(purpose, recommendations.measure),
        agent,
    )


def _read_wish(query: QueryDict) -> RecommendationRequest:
    """Return what the form asks for. Raises BadAddressError."""
    game, name, rating = (
        query.get(key, "").replace("\0", "").strip() for key in (GAME, AGENT, RATING)
    )
    purpose = query.get(PURPOSE, OPPONENT)
    if not name and not (game and rating):
        raise BadAddressError("give an agent, or a game and a rating")
    agents = find_agents([name], game) if name else []
    try:
        number = float(rating) if rating else None
    except ValueError as error:
        raise BadAddressError(f"rating must be a number, got {rating[:40]!r}") from error
    game = game or (agents[0].game if agents else "")
    return RecommendationRequest(
        game, agents[0].pk if agents else None, number, purpose, limit=N_SHOWN
    )


def _offer_fields(query: QueryDict) -> Sequence[Choice | Field]:
    texts = {name: query.get(name, "")[:120] for name in (GAME, AGENT, RATING, PURPOSE)}
    games = [("", "that of the agent"), *game_choices()]
    return [
        Choice(GAME, "Game", texts[GAME], games),
        Field(AGENT, "Agent, name or number", "search", texts[AGENT], "either"),
        Field(RATING, "or rating, mean score", "search", texts[RATING], "or"),
        Choice(
            PURPOSE, "As", texts[PURPOSE] or OPPONENT, [(purpose, purpose) for purpose in PURPOSES]
        ),
    ]
