"""What a leaderboard shows: one serializer for the page, the snapshot and the deltas.

Every number is rounded here, once, so that a page, a push and a reload can never disagree, and a
change too small to be seen is no change.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple, NotRequired, TypedDict

from django.db.models import Case, QuerySet, When

from matches.models import Leaderboard, Rating
from matches.ratings import snapshots
from matches.ratings.p_best import compute_chances, compute_p_best
from matches.ratings.rank_ranges import Ladder, build_ladder, read_ladder
from matches.store.catalog import policy_title
from matches.store.formats import format_percent, format_score, format_signed

# Rows that are live; a longer board has plain pages for the rest.
TOP = 200


class Row(TypedDict):
    """One agent as it is shown; low and high end the 95 % interval of mu.

    rank: by rating, those without a match come after all others; place: the ranks that are
    left open at 95 %, empty without a match; lineage: training run, step and parent; best: P(it
    is the best of the first TOP ranks), of_run: of its training run among them, both empty below
    them; trend: change of mu in about an hour, empty for an agent that is newer; score, scores: the
    mean and its 95 % interval, once there is one, of a game of one seat alone.
    """

    agent: int
    rank: int
    place: str
    name: str
    kind: str
    lineage: str
    mu: str
    low: str
    high: str
    live: str
    best: str
    of_run: str
    trend: str
    matches: str
    wins: str
    draws: str
    losses: str
    forfeits: str
    score: NotRequired[str]
    scores: NotRequired[str]


class Field(NamedTuple):
    """What rows are compared with, by agent id."""

    p_best: Mapping[int, float]
    p_best_of_run: Mapping[int, float | None]
    mu_before: Mapping[int, float]
    ladder: Ladder


class RatedRow(NamedTuple):
    """A rating with what a row shows of its agent; run and step: None without weights or parent."""

    agent: int
    mu: float
    sd: float
    low: float
    high: float
    live_mu: float
    n_matches: int
    n_wins: int
    n_draws: int
    n_losses: int
    n_forfeits: int
    mean_score: float | None
    score_low: float | None
    score_high: float | None
    name: str
    policy: str
    run: str | None
    step: int | None
    parent_run: str | None
    parent_step: int | None


ALONE = Field({}, {}, {}, build_ladder([]))
_WEIGHTS = "agent__checkpoint"
_COLUMNS = (
    *("agent_id", "mu", "sd", "low", "high", "live_mu"),
    *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
    *("mean_score", "score_low", "score_high"),
    *("agent__name", "agent__policy", f"{_WEIGHTS}__run", f"{_WEIGHTS}__step"),
    *(f"{_WEIGHTS}__parent__run", f"{_WEIGHTS}__parent__step"),
)


def rank_ratings(board_id: int) -> QuerySet[Rating]:
    """Return the ratings of a board in the order of rank: settled mu, ties by agent id.

    Agents without a match come after all others. No index has this order: for the first rows take
    `read_first`.
    """
    ratings = Rating.objects.filter(leaderboard_id=board_id).select_related("agent")
    return ratings.order_by(Case(When(n_matches=0, then=1), default=0), "-mu", "agent_id")


def rank_played(board_id: int) -> QuerySet[Rating]:
    """Return the ratings of agents that have played, in the order of rank, by an index."""
    return rank_ratings(board_id).filter(n_matches__gt=0).order_by("-mu", "agent_id")


def list_unplayed(board_id: int) -> QuerySet[Rating]:
    """Return the ratings of agents without a match, which come last."""
    return rank_ratings(board_id).filter(n_matches=0).order_by("agent_id")


def read_first(board_id: int) -> list[Rating]:
    """Return the first TOP ratings in the order of rank."""
    first = list(rank_played(board_id)[:TOP])
    return [*first, *list_unplayed(board_id)[: TOP - len(first)]] if len(first) < TOP else first


def find_rank(rating: Rating) -> int:
    """Return the rank of an agent, 1 the best: how many are above it, and one."""
    played = rank_played(rating.leaderboard_id).order_by()
    if not rating.n_matches:
        unplayed_before = list_unplayed(rating.leaderboard_id).filter(agent_id__lt=rating.agent_id)
        return played.count() + unplayed_before.count() + 1
    ties = played.filter(mu=rating.mu, agent_id__lt=rating.agent_id)
    return played.filter(mu__gt=rating.mu).count() + ties.count() + 1


def load_field(board_id: int, agents: Collection[int] | None = None) -> Field:
    """Return what rows of a board are compared with; bounded, whatever was played.

    agents: whose rows these are, None for all of the board.
    """
    columns = ("agent_id", "mu", "sd", "agent__checkpoint__run")
    top = list(rank_played(board_id).values_list(*columns)[:TOP])
    agents, mu, sd, runs = zip(*top, strict=True) if top else ((), (), (), ())
    chances = compute_chances(mu, sd, runs)
    of_results = ("rated_at", "results_hash", "n_settled")
    board = Leaderboard.objects.only(*of_results, "ratings_reset_at").get(pk=board_id)
    return Field(
        dict(zip(agents, chances.of_all, strict=True)),
        dict(zip(agents, chances.of_run, strict=True)),
        snapshots.read_mu_before(board, agents),
        read_ladder(board),
    )


def compute_leader_chance(board_id: int) -> float | None:
    """Return P(the first rank is the best of the first TOP); None before a match counts."""
    top = list(rank_played(board_id).values_list("mu", "sd")[:TOP])
    if not top:
        return None
    mu, sd = zip(*top, strict=True)
    return float(compute_p_best(mu, sd)[0])


def load_rows(board_id: int, *, start: int = 0) -> list[Row]:
    """Return the rows of ranks start + 1 to start + TOP."""
    played = rank_played(board_id)
    page = read_rated(played[start : start + TOP])
    if len(page) < TOP:
        # Two queries rather than one order by whether they have played, which has no index.
        n_played = start + len(page) if page or not start else played.count()
        first = max(0, start - n_played)
        page += read_rated(list_unplayed(board_id)[first : first + TOP - len(page)])
    among = load_field(board_id, [rating.agent for rating in page])
    return [format_row(rating, rank, among) for rank, rating in enumerate(page, start + 1)]


def read_rated(ratings: QuerySet[Rating]) -> list[RatedRow]:
    """Return what rows show of ratings: one query, and no object for each of a row's agents."""
    columns = ratings.select_related(None).values_list(*_COLUMNS)
    return [RatedRow(*row) for row in columns]


def format_row(rating: RatedRow, rank: int, among: Field = ALONE) -> Row:
    """Return one rating as it is shown."""
    is_rated = rating.n_matches > 0
    place = among.ladder.place(rank, rating.mu, rating.sd) if is_rated else ""
    mu_before = among.mu_before.get(rating.agent) if is_rated else None
    row: Row = {
        "agent": rating.agent,
        "rank": rank,
        "place": str(place),
        "name": rating.name,
        "kind": policy_title(rating.policy),
        "lineage": describe_lineage(rating),
        "mu": f"{rating.mu:.2f}",
        "low": f"{rating.low:.2f}",
        "high": f"{rating.high:.2f}",
        "live": f"{rating.live_mu:.2f}",
        "best": _format_chance(among.p_best.get(rating.agent)),
        "of_run": _format_chance(among.p_best_of_run.get(rating.agent)),
        "trend": format_change(rating.mu, mu_before),
        "matches": f"{rating.n_matches:,}",
        "wins": f"{rating.n_wins:,}",
        "draws": f"{rating.n_draws:,}",
        "losses": f"{rating.n_losses:,}",
        "forfeits": f"{rating.n_forfeits:,}",
    }
    if rating.mean_score is not None:
        ends = rating.score_low, rating.score_high
        row["score"], row["scores"] = format_mean(rating.mean_score, *ends)
    return row


def format_mean(mean: float, low: float | None, high: float | None) -> tuple[str, str]:
    """Return a mean score and its interval as they are shown; one seed alone gives none."""
    if low is None or high is None:
        return format_score(mean, None), ""
    doubt = (high - low) / 2
    ends = (format_score(end, doubt) for end in (low, high))
    return format_score(mean, doubt), " to ".join(ends)


def _format_chance(chance: float | None) -> str:
    return "" if chance is None else format_percent(chance, is_column=True)


def has_played(row: Row) -> bool:
    """Say whether a row's agent has a match that counts: without one its rating says nothing."""
    return row["matches"] != "0"


def describe_lineage(rating: RatedRow) -> str:
    """Return where the weights of an agent come from; empty without any."""
    if rating.run is None:
        return ""
    itself = _name_step(rating.run, rating.step)
    if rating.parent_run is None:
        return itself
    return f"{itself}, from {_name_step(rating.parent_run, rating.parent_step)}"


def format_change(now: float, before: float | None) -> str:
    """Return a difference with its sign; empty without something to compare with."""
    if before is None:
        return ""
    return format_signed(round(now, 2) - round(before, 2))


def _name_step(run: str, step: int | None) -> str:
    return run if step is None else f"{run} @ {step:,}"
