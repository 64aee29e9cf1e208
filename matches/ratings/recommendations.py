"""Who is recommended to an agent, or to somebody of a given strength, and why.

Of one leaderboard, since ratings of two do not compare. The agents next to what would fit best are
looked at: a bounded number by the index of ratings, however many there are. Only where nobody but a
mean score is given, all mean scores of the leaderboard are sorted: they have no index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import GameSpec
from arena.ratings.base import Z95
from arena.ratings.fitting_others import (
    BEST_SHARE,
    CERTAIN,
    LEAST_SHARE,
    OPPONENT,
    PURPOSES,
    Meeting,
    Rules,
    Strength,
    choose,
    compare,
    seek,
)
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint, Leaderboard, Rating
from matches.store.formats import format_percent, format_score, format_signed, hide_folders

N_NEAREST: Final = 100
"""So many agents above and below what fits best are looked at."""
MOST: Final = 20
HIGHEST: Final = 1e9
MU, SCORE = "rating", "mean_score"


@dataclass(frozen=True)
class RecommendationRequest:
    """Who looks for whom: an agent, or a rating (in a game of one seat a mean score)."""

    game: str
    agent: int | None = None
    rating: float | None = None
    purpose: str = OPPONENT
    leaderboard: str = ""
    limit: int = 3


class MeasuredStrength(NamedTuple):
    """A strength with the ends of its 95 % interval, as its leaderboard shows them."""

    strength: Strength
    low: float
    high: float


class RecommendedAgent(NamedTuple):
    """An agent with its strength, how it compares, and why it is recommended, in a sentence."""

    rating: Rating
    measured: MeasuredStrength
    meeting: Meeting
    why: str


class Recommendations(NamedTuple):
    """Who is recommended, the best first; measure: what strengths are, MU or SCORE.

    own: of whom it is asked for. none: why nobody is recommended, empty where somebody is.
    """

    board: Leaderboard
    measure: str
    own: MeasuredStrength
    chosen: Sequence[RecommendedAgent]
    none: str


def recommend(wish: RecommendationRequest) -> Recommendations:
    """Return who fits: four queries. Raises BadInputError naming the field."""
    spec = _find_game(wish.game)
    if wish.purpose not in PURPOSES:
        raise BadInputError("purpose", f"{wish.purpose!r:.40} is none of {', '.join(PURPOSES)}")
    if not 1 <= wish.limit <= MOST:
        raise BadInputError("limit", f"{wish.limit} is not in 1..{MOST}")
    if (wish.agent is None) == (wish.rating is None):
        which = "neither is" if wish.agent is None else "both are"
        raise BadInputError("agent", f"give either agent or rating: {which} given")
    board, own, rating = _find_own(wish, spec)
    place = _seek_place(own.strength, rating, board, wish.purpose)
    return _recommend_to(own, place, board, wish)


def recommend_near(rating: Rating, purpose: str, *, limit: int) -> Recommendations:
    """Return who fits an agent on one leaderboard: two queries.

    Raises BadInputError where nothing is known of it there.
    """
    board, spec = rating.leaderboard, _find_game(rating.leaderboard.game)
    own = _measure_agent(rating, spec)
    if own is None:
        raise BadInputError("agent", f"nothing is known of it on {board} yet: let it play there")
    wish = RecommendationRequest(board.game, agent=rating.agent_id, purpose=purpose, limit=limit)
    return _recommend_to(own, _seek_place(own.strength, rating, board, purpose), board, wish)


def _make_rules(board: Leaderboard) -> Rules | None:
    """Return how its matches go, None in a game of one seat."""
    spec = games.get(board.game).spec
    return None if spec.is_scored else Rules(2 * spec.team_size, board.current_draw_probability)


def _seek_place(
    own: Strength, rating: Rating | None, board: Leaderboard, purpose: str
) -> tuple[str, float]:
    """Return the column by which agents are looked for, and the value next to which they are."""
    rules = _make_rules(board)
    if rules is not None:
        return "mu", seek(own, purpose, rules)
    if rating is None:
        return "mean_score", seek(own, purpose, None)
    # Who is near by rating is so by mean score, too, and ratings have an index.
    return "mu", seek(_measure_within(rating.mu, rating.low, rating.high).strength, purpose, None)


def _recommend_to(
    own: MeasuredStrength, place: tuple[str, float], board: Leaderboard, wish: RecommendationRequest
) -> Recommendations:
    rules, spec = _make_rules(board), games.get(board.game).spec
    near = {rating.agent_id: rating for rating in _read_nearest(board, wish, *place)}
    all_measured = {pk: _measure_agent(rating, spec) for pk, rating in near.items()}
    measured_by_agent = {
        pk: measured for pk, measured in all_measured.items() if measured is not None
    }
    meetings = {
        pk: compare(own.strength, measured.strength, rules)
        for pk, measured in measured_by_agent.items()
    }
    chosen = [
        RecommendedAgent(near[pk], measured_by_agent[pk], meetings[pk], explain(meetings[pk]))
        for pk in choose(meetings, wish.purpose)[: wish.limit]
    ]
    measure = SCORE if spec.is_scored else MU
    none = "" if chosen else _explain_none(board, measure, is_empty=not meetings)
    return Recommendations(board, measure, own, chosen, none)


def explain(meeting: Meeting) -> str:
    """Return why somebody is recommended, in numbers."""
    chance = f"P(it is the stronger) is {format_percent(meeting.p_stronger, is_estimate=True)}"
    if meeting.share is None or meeting.share_low is None or meeting.share_high is None:
        doubt = meeting.high - meeting.lead
        lead = format_score(abs(meeting.lead), doubt)
        ends = " to ".join(_sign_score(end, doubt) for end in (meeting.low, meeting.high))
        side = "above" if meeting.lead >= 0 else "below"
        return f"its mean score is {lead} {side} ({ends}); {chance}"
    shares = meeting.share, meeting.share_low, meeting.share_high
    # More digits would claim more than these numbers know.
    share, low, high = (format_percent(round(share, 2)) for share in shares)
    won = f"about {share} of the points can be won against it ({low} to {high})"
    side = "higher" if meeting.lead >= 0 else "lower"
    ends = f"{format_signed(meeting.low)} to {format_signed(meeting.high)}"
    lead = f"its rating is {abs(meeting.lead):.2f} {side} ({ends})"
    return f"{won}; {lead}; {chance}"


def _sign_score(lead: float, doubt: float) -> str:
    number = format_score(lead, doubt)
    return f"+{number}" if lead > 0 else number


def _explain_none(board: Leaderboard, measure: str, *, is_empty: bool) -> str:
    if is_empty:
        return f"nobody else that may play is rated on {board} yet: let agents play there"
    certain, least = format_percent(CERTAIN), format_percent(LEAST_SHARE)
    nobody = f"nobody near on {board} is stronger with a probability of {certain}"
    return nobody if measure == SCORE else f"{nobody} and leaves at least {least} of the points"


def describe_rule(purpose: str, measure: str) -> str:
    """Return by which rule somebody is recommended."""
    certain, best, least = map(format_percent, (CERTAIN, BEST_SHARE, LEAST_SHARE))
    if measure == SCORE:
        nearest = "The mean score nearest to it; a doubt counts like a distance."
        step = f"The lowest mean score that is higher with a probability of {certain}."
        return nearest if purpose == OPPONENT else step
    if purpose == OPPONENT:
        return "The best quality of a match as TrueSkill has it: about half of the points, surely."
    return (
        f"Stronger with a probability of {certain}; of these the one against which the learner "
        f"wins closest to {best} of the points, and {least} or more."
    )


def _find_game(game: str) -> GameSpec:
    try:
        return games.get(game).spec
    except ArenaError as error:
        # Anybody may ask.
        raise BadInputError("game", hide_folders(str(error))) from error


def _find_own(
    wish: RecommendationRequest, spec: GameSpec
) -> tuple[Leaderboard, MeasuredStrength, Rating | None]:
    """Return on which leaderboard somebody is sought, and how strong who asks is there."""
    if wish.rating is not None:
        if not isfinite(wish.rating) or abs(wish.rating) > HIGHEST:
            raise BadInputError("rating", f"{wish.rating} is no rating: give a finite number")
        sure = MeasuredStrength(Strength(wish.rating, 0.0), wish.rating, wish.rating)
        return _find_board(wish), sure, None
    agent = Agent.objects.filter(pk=wish.agent or 0).first()
    if agent is None:
        raise BadInputError("agent", f"there is no agent {wish.agent}")
    if agent.game != wish.game:
        raise BadInputError("agent", f"{agent} plays {agent.game}, not {wish.game}")
    ratings = Rating.objects.filter(agent=agent, leaderboard__is_rated=True, n_matches__gt=0)
    if wish.leaderboard:
        ratings = ratings.filter(leaderboard=_find_board(wish))
    rating = ratings.select_related("leaderboard").order_by("-n_matches", "-leaderboard_id").first()
    own = _measure_agent(rating, spec) if rating else None
    if rating is None or own is None:
        on_board = f" on {wish.leaderboard}" if wish.leaderboard else ""
        raise BadInputError(
            "agent", f"{agent} is not rated{on_board} yet: let it play, or give rating"
        )
    return rating.leaderboard, own, rating


def _find_board(wish: RecommendationRequest) -> Leaderboard:
    """Return the leaderboard that is named, else the first of the game as its lists have them."""
    boards = Leaderboard.objects.filter(is_rated=True)
    if wish.leaderboard:
        board = boards.filter(name=wish.leaderboard).first()
        if board is None or board.game != wish.game:
            why = f"there is none named {wish.leaderboard!r:.80} of {wish.game}"
            raise BadInputError("leaderboard", why)
        return board
    rated_boards = boards.filter(game=wish.game, n_counted__gt=0)
    first = rated_boards.order_by("-is_listed", "-is_pinned", "-n_counted", "-pk").first()
    if first is None:
        raise BadInputError("game", f"no leaderboard of {wish.game} has counted a match yet")
    return first


def _read_nearest(
    board: Leaderboard, wish: RecommendationRequest, field: str, middle: float
) -> list[Rating]:
    """Return the ratings next to a strength, of agents that may play: two queries."""
    may_play = Q(agent__is_retired=False, agent__quarantined_at=None, n_matches__gt=0)
    others = Rating.objects.filter(may_play, leaderboard=board).select_related("agent")
    others = others.exclude(agent=wish.agent) if wish.agent else others
    others = others.exclude(agent__checkpoint__state=Checkpoint.State.REFUSED)
    above: Any = others.filter(**{f"{field}__gte": middle}).order_by(field, "agent_id")
    below: QuerySet[Rating] = others.filter(**{f"{field}__lt": middle})
    return [*above[:N_NEAREST], *below.order_by(f"-{field}", "agent_id")[:N_NEAREST]]


def _measure_agent(rating: Rating, spec: GameSpec) -> MeasuredStrength | None:
    """Return the strength of an agent; None where its doubt is not known, as of one seed."""
    if not spec.is_scored:
        return _measure_within(rating.mu, rating.low, rating.high) if rating.n_matches else None
    if rating.mean_score is None or rating.score_low is None or rating.score_high is None:
        return None
    return _measure_within(rating.mean_score, rating.score_low, rating.score_high)


def _measure_within(value: float, low: float, high: float) -> MeasuredStrength:
    return MeasuredStrength(Strength(value, (high - low) / (2 * Z95)), low, high)
