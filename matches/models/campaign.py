"""Campaigns: tournaments with a question, which end with a verdict; alarms that one may raise."""

from django.core.validators import MinValueValidator
from django.db import models

from matches.models.agent import Agent
from matches.models.choices import question_choices
from matches.models.tournament import Tournament
from matches.models.validation import validate_finite


class Campaign(models.Model):
    """A question about the entrants of a tournament; `tournament.n_matches` is its budget.

    The verdict is written once, by control, and never changed.
    """

    tournament = models.OneToOneField(
        Tournament, on_delete=models.PROTECT, related_name="campaign", editable=False
    )
    question = models.CharField(max_length=60, choices=question_choices)
    error = models.FloatField(
        default=0.05,
        validators=(validate_finite,),
        help_text="The probability that the verdict may be wrong.",
    )
    margin = models.FloatField(
        default=0.0,
        validators=(validate_finite, MinValueValidator(0)),
        help_text="Agents closer than this in rating count as equal; 1 is about 45 Elo.",
    )
    is_by_scores = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="It compares mean scores on equal seeds, and the margin is one of scores.",
    )
    parameters = models.JSONField(default=dict, blank=True, help_text="Of the question.")
    max_matches = models.PositiveIntegerField(help_text="The budget in matches.")
    max_core_s = models.FloatField(
        null=True, blank=True, validators=(validate_finite, MinValueValidator(0))
    )
    max_money = models.FloatField(
        null=True, blank=True, validators=(validate_finite, MinValueValidator(0))
    )
    n_known = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Results of the entrants known at the start."
    )
    n_known_elsewhere = models.PositiveBigIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Of those: results of other leaderboards of the game.",
    )

    # The latest judgement, kept so that pages show it without judging again.
    n_judged = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Results behind the latest judgement."
    )
    judged_at = models.DateTimeField(null=True, editable=False)
    chances = models.JSONField(
        default=list, editable=False, help_text="P(best) of the entrants by position."
    )
    ranking = models.JSONField(
        null=True,
        editable=False,
        help_text="Of a ranking: entrants by position, the likeliest best first, each with "
        "P(it is better than the next).",
    )
    likely_statement = models.CharField(
        max_length=4_000,
        blank=True,
        db_default="",
        editable=False,
        help_text="The likeliest answer as judged last, however sure; empty of a test.",
    )
    likely_subjects = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="Agents that the likeliest answer names.",
    )
    pairs = models.JSONField(
        null=True,
        editable=False,
        help_text="Of a sequential test: its blocks with 0, 1/2, 1, 3/2 and 2 points.",
    )
    doubts = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="Sentences: which assumption of the rating model its results put in doubt.",
    )
    forecast = models.JSONField(null=True, editable=False)
    forecast_at = models.DateTimeField(null=True, editable=False)

    # The verdict, with the words of its day: a later version may say it otherwise.
    statement = models.CharField(max_length=4_000, blank=True, editable=False)
    subjects = models.JSONField(default=list, editable=False, help_text="Agents of the verdict.")
    upsets = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="Of a ranking that is no order: agents, who beats whom that stands before it.",
    )
    probability = models.FloatField(null=True, editable=False)
    why = models.CharField(max_length=40, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)
    n_played = models.PositiveIntegerField(
        null=True, editable=False, help_text="Matches of its own until the verdict."
    )
    n_round_robin = models.FloatField(
        null=True, editable=False, help_text="What a round robin would have needed, simulated."
    )

    class Meta:
        ordering = ("-id",)
        indexes = (
            # Query: the campaigns that control judges.
            models.Index(
                fields=("tournament",),
                condition=models.Q(decided_at=None),
                name="campaign_undecided",
            ),
        )

    def __str__(self) -> str:
        return f"{self.question}: {self.statement or 'open'}"


class CampaignPoint(models.Model):
    """What a campaign said after so many results: its curve."""

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, db_index=False, related_name="points"
    )
    n_results = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    probability = models.FloatField(help_text="Of the likeliest answer then.")
    llr = models.FloatField(null=True, help_text="Log-likelihood ratio of a sequential test.")
    matches_left = models.FloatField(null=True, help_text="Forecast then.")

    class Meta:
        ordering = ("n_results",)
        constraints = (
            # Also the index of the query: the curve of a campaign.
            models.UniqueConstraint(fields=("campaign", "n_results"), name="campaign_point_once"),
        )

    def __str__(self) -> str:
        return f"{self.n_results}: {self.probability:.3f}"


class Alarm(models.Model):
    """A regression: P(the agent is worse than its best ancestor by the margin) passed the level."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="alarms")
    ancestor = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="alarm")
    probability = models.FloatField()
    margin = models.FloatField(help_text="In units of rating.")
    level = models.FloatField(help_text="The probability from which it is an alarm.")
    at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = (
            # Query: the alarms that nobody has looked at.
            models.Index(
                fields=("agent",),
                condition=models.Q(acknowledged_at=None),
                name="alarm_open",
            ),
        )

    def __str__(self) -> str:
        return f"{self.agent} is worse than {self.ancestor} (P {self.probability:.3f})"
