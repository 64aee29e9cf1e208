"""What the API shows and takes. What a value must be is checked by models and services."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from matches import standings
from matches.models import Agent, Attempt, Leaderboard, Match, Outcome, Rating, Tournament, Worker
from matches.models.match import numbers


class ProblemSerializer(serializers.Serializer[Any]):
    """A value that was refused."""

    field = serializers.CharField()
    message = serializers.CharField()


# Not a class: a serializer has an attribute of the name of its field.
BadInputSerializer = inline_serializer("BadInput", {"errors": ProblemSerializer(many=True)})


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """A rated competitor."""

    checkpoint = serializers.CharField(source="checkpoint_id", read_only=True, allow_null=True)

    class Meta:
        """Everything of it."""

        model = Agent
        fields: tuple[str, ...] = (
            *("id", "name", "game", "policy", "parameters", "checkpoint"),
            *("placement", "is_retired", "created_at"),
        )


class NewAgentSerializer(serializers.Serializer[Any]):
    """An agent to register."""

    name = serializers.CharField(max_length=120)
    game = serializers.CharField(max_length=60)
    policy = serializers.CharField(max_length=60)
    parameters = serializers.DictField(default=dict)
    checkpoint = serializers.CharField(
        max_length=120,
        default="",
        allow_blank=True,
        help_text="Of a network: the hash of a stored one, or an agent that has it.",
    )


class AgentNameSerializer(serializers.ModelSerializer[Agent]):
    """An agent by id and name."""

    class Meta:
        """The least."""

        model = Agent
        fields: tuple[str, ...] = ("id", "name")


class RatingSerializer(serializers.ModelSerializer[Rating]):
    """What is known of an agent; low and high end the 95 % interval of mu."""

    agent = AgentNameSerializer()
    low = serializers.SerializerMethodField()
    high = serializers.SerializerMethodField()

    class Meta:
        """Without the rater's own state."""

        model = Rating
        fields: tuple[str, ...] = (
            *("agent", "mu", "sd", "low", "high", "live_mu", "live_sigma"),
            *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
        )

    def get_low(self, rating: Rating) -> float:
        """Return the lower end."""
        return rating.mu - standings.Z95 * rating.sd

    def get_high(self, rating: Rating) -> float:
        """Return the upper end."""
        return rating.mu + standings.Z95 * rating.sd


class LeaderboardSerializer(serializers.ModelSerializer[Leaderboard]):
    """A leaderboard without its ratings."""

    class Meta:
        """What users set and what is counted."""

        model = Leaderboard
        fields: tuple[str, ...] = (
            *("id", "name", "title", "game", "game_parameters", "opening_plies"),
            *("draw_probability", "created_at", "n_counted", "n_settled", "spread", "rated_at"),
        )


class RatedLeaderboardSerializer(LeaderboardSerializer):
    """A leaderboard with the ratings of its first agents, the best first."""

    ratings = serializers.SerializerMethodField()

    class Meta(LeaderboardSerializer.Meta):
        """The ratings too."""

        fields: tuple[str, ...] = (*LeaderboardSerializer.Meta.fields, "ratings")

    def get_ratings(self, board: Leaderboard) -> list[dict[str, Any]]:
        """Return as many ratings as the page shows."""
        top = standings.ranked(board.pk)[: standings.TOP]
        return [dict(row) for row in RatingSerializer(top, many=True).data]


class NewLeaderboardSerializer(serializers.Serializer[Any]):
    """A leaderboard to open."""

    name = serializers.CharField(max_length=80)
    game = serializers.CharField(max_length=60)
    title = serializers.CharField(max_length=120, default="", allow_blank=True)
    game_parameters = serializers.DictField(default=dict)
    opening_plies = serializers.IntegerField(default=None, allow_null=True)


class TournamentSerializer(serializers.ModelSerializer[Tournament]):
    """A tournament and how far it is; n_done includes forfeits."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](slug_field="name", read_only=True)

    class Meta:
        """Everything but its key."""

        model = Tournament
        fields: tuple[str, ...] = (
            *("id", "leaderboard", "name", "pairing", "n_matches", "seed", "move_s", "match_s"),
            *("is_rated", "keeps_trajectories", "trajectory_days", "order_limit"),
            *("faults", "state", "created_at", "started_at", "finished_at", "n_planned", "n_done"),
            *("n_forfeits", "n_void", "n_cancelled", "n_retried", "n_refused", "mean_match_s"),
            "problem",
        )


class TournamentDetailSerializer(TournamentSerializer):
    """A tournament with those who take part."""

    agents = AgentNameSerializer(many=True)

    class Meta(TournamentSerializer.Meta):
        """The agents too."""

        fields: tuple[str, ...] = (*TournamentSerializer.Meta.fields, "agents")


class NewTournamentSerializer(serializers.Serializer[Any]):
    """A tournament to schedule: the leaderboard by name, the agents by id."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](
        slug_field="name", queryset=Leaderboard.objects.all()
    )
    agents = serializers.ListField(child=serializers.IntegerField(min_value=1), max_length=100_000)
    name = serializers.CharField(max_length=120)
    n_matches = serializers.IntegerField()
    pairing = serializers.CharField(max_length=60, default="double_round_robin")
    seed = serializers.IntegerField(default=0)
    move_s = serializers.FloatField(required=False)
    match_s = serializers.FloatField(required=False)
    faults = serializers.JSONField(default=None, allow_null=True)
    is_rated = serializers.BooleanField(default=True)
    keeps_trajectories = serializers.BooleanField(default=False)
    trajectory_days = serializers.IntegerField(default=None, allow_null=True)
    order_limit = serializers.IntegerField(default=None, allow_null=True)


class OutcomeSerializer(serializers.ModelSerializer[Outcome]):
    """The one result of a match; rank 0 is the best, equal ranks are a draw."""

    ranks = serializers.SerializerMethodField()

    class Meta:
        """With what replays it."""

        model = Outcome
        fields: tuple[str, ...] = (
            *("ranks", "is_forfeit", "guilty_seat", "reason"),
            *("attempt", "actions", "trajectory", "recorded_at"),
        )

    def get_ranks(self, outcome: Outcome) -> list[int]:
        """Return the ranks by seat."""
        return numbers(outcome.ranks)


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """One try at a match that has ended."""

    class Meta:
        """How and why."""

        model = Attempt
        fields: tuple[str, ...] = (
            *("number", "ending", "reason", "seat", "detail", "node"),
            *("was_executing", "n_steps", "duration_ms", "ended_at"),
        )


class MatchSerializer(serializers.ModelSerializer[Match]):
    """A match; the agents by seat."""

    agents = serializers.SerializerMethodField()

    class Meta:
        """What a list needs."""

        model = Match
        fields: tuple[str, ...] = (
            *("id", "tournament", "sequence", "block", "rotation", "game_seed"),
            *("agents", "state", "attempt", "void_reason"),
        )

    def get_agents(self, match: Match) -> list[int]:
        """Return the agents' ids by seat."""
        return match.agent_ids


class MatchDetailSerializer(MatchSerializer):
    """A match with every attempt and its outcome."""

    attempts = AttemptSerializer(many=True)
    outcome = OutcomeSerializer(allow_null=True, default=None)

    class Meta(MatchSerializer.Meta):
        """Attempts and outcome too."""

        fields: tuple[str, ...] = (*MatchSerializer.Meta.fields, "attempts", "outcome")


class WorkerSerializer(serializers.ModelSerializer[Worker]):
    """A play node as it describes itself."""

    class Meta:
        """Everything but its incarnation."""

        model = Worker
        fields: tuple[str, ...] = (
            *("id", "node", "slots", "capabilities", "versions"),
            *("first_seen_at", "last_seen_at"),
        )
