"""How ratings, their history and comparisons of two of them are shown."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from matches.api.fields import AgentNameSerializer
from matches.models import Rating, RatingSnapshot
from matches.store import snapshot_tables

COMPUTED = ("rank", "agent")
"""What is no column of a rating but made for showing it."""


class RatingSerializer(serializers.ModelSerializer[Rating]):
    """What is known of an agent; low and high end the 95 % interval of mu.

    mean_score, score_low and score_high are of games of one seat alone, which have no live rating.
    """

    agent = AgentNameSerializer()
    rank = serializers.IntegerField()

    class Meta:
        # Without the rater's own state
        model = Rating
        fields: tuple[str, ...] = (
            *("rank", "agent", "mu", "sd", "low", "high", "live_mu", "live_sigma"),
            *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
            *("mean_score", "score_low", "score_high"),
        )


class SnapshotSerializer(serializers.ModelSerializer[RatingSnapshot]):
    """When the ratings of a leaderboard were kept."""

    class Meta:
        model = RatingSnapshot
        fields: tuple[str, ...] = ("taken_at", "n_outcomes", "results_hash")


class PointSerializer(serializers.Serializer[Any]):
    """The rating of an agent at a moment."""

    taken_at = serializers.DateTimeField()
    n_outcomes = serializers.IntegerField(help_text="Outcomes of the leaderboard behind it.")
    mu = serializers.FloatField()
    sd = serializers.FloatField()
    low = serializers.FloatField(help_text="Lower end of its 95 % interval.")
    high = serializers.FloatField(help_text="Upper end of its 95 % interval.")
    live_mu = serializers.FloatField()
    live_sigma = serializers.FloatField()


class PairSerializer(serializers.Serializer[Any]):
    """Which two agents of the leaderboard are compared, by id."""

    first = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    second = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class ExpectedSerializer(serializers.Serializer[Any]):
    """How the next match probably ends."""

    win = serializers.FloatField()
    draw = serializers.FloatField()
    loss = serializers.FloatField()


class HeadToHeadSerializer(serializers.Serializer[Any]):
    """How the matches of the two ended."""

    n_wins = serializers.IntegerField()
    n_draws = serializers.IntegerField()
    n_losses = serializers.IntegerField()


class ComparisonSerializer(serializers.Serializer[Any]):
    """The first agent against the second, by their settled ratings.

    p_above: the probability that the skill of the first is above that of the second, by the joint
    posterior of the two.
    """

    first = AgentNameSerializer(source="first.agent")
    second = AgentNameSerializer(source="second.agent")
    p_above = serializers.FloatField()
    expected = ExpectedSerializer()
    head_to_head = HeadToHeadSerializer()


def rank_rating(rank: int, rating: Rating) -> Rating:
    """Return the rating with its rank, to be shown."""
    vars(rating)["rank"] = rank
    return rating


def serialize_ratings(ratings: Iterable[Rating]) -> list[dict[str, Any]]:
    """Return ratings with their ranks as they are shown."""
    return [dict(row) for row in RatingSerializer(list(ratings), many=True).data]


def format_ratings(ratings: QuerySet[Rating], fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return these fields of ratings as RatingSerializer shows them, ranked from 1 in their order.

    For thousands at once: several times as fast, as no row becomes a model or a serializer.
    """
    stored = [name for name in fields if name not in COMPUTED]
    rows = ratings.values_list("agent_id", "agent__name", *stored)
    formatted = []
    for rank, (agent, name, *values) in enumerate(rows, 1):
        computed = {"rank": rank, "agent": {"id": agent, "name": name}}
        row = computed | dict(zip(stored, values, strict=True))
        formatted.append({field: row[field] for field in fields})
    return formatted


def list_points(page: Sequence[RatingSnapshot], agent: int) -> list[dict[str, Any]]:
    """Return the ratings of an agent in the snapshots that have it."""
    points = []
    tables = snapshot_tables.read_rows(page, [agent])
    for snapshot, rows in zip(page, tables, strict=True):
        if row := rows.get(agent):
            point = dict(zip(snapshot_tables.COLUMNS, row, strict=True))
            moment = {"taken_at": snapshot.taken_at, "n_outcomes": snapshot.n_outcomes}
            points.append({**point, **moment})
    return points
