"""Schedules: tournaments, campaigns and seasons that beat starts, by crontab or once."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.timezone import now as utc_now
from django_celery_beat.models import PeriodicTask

from matches.models.agent import Agent
from matches.models.choices import SeasonMode, pairing_choices, question_choices
from matches.models.leaderboard import Leaderboard
from matches.models.season import Season
from matches.models.tournament import MAX_DAYS, MAX_MATCHES, Limited, Tournament
from matches.models.validation import check_name, is_named_anew, validate_finite


class Schedule(Limited):
    """When to start what; written by services together with the row of beat.

    With a question it starts campaigns, with a season's mode seasons, else tournaments.
    """

    name = models.CharField(max_length=100, unique=True)
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, related_name="schedules")
    agents = models.ManyToManyField(
        Agent,
        blank=True,
        related_name="schedules",
        help_text="Empty: all of the leaderboard that are neither retired nor quarantined.",
    )
    crontab = models.CharField(
        max_length=200,
        blank=True,
        help_text="Minute, hour, day of month, month, day of week; empty: once.",
    )
    timezone = models.CharField(max_length=63, default="UTC", help_text="Such as Europe/Berlin.")
    once_at = models.DateTimeField(
        null=True, blank=True, help_text="Start once at this time, instead of a crontab."
    )
    is_enabled = models.BooleanField(default=True)

    season = models.CharField(
        max_length=5,
        choices=SeasonMode.choices,
        blank=True,
        default="",
        db_default="",
        help_text="Begin a season in this way, instead of starting a tournament.",
    )
    question = models.CharField(
        max_length=60,
        choices=question_choices,
        blank=True,
        default="",
        db_default="",
        help_text="Ask this each time, as a campaign; empty: start a plain tournament.",
    )
    error = models.FloatField(
        default=0.05,
        db_default=0.05,
        validators=(validate_finite,),
        help_text="The probability that the verdict may be wrong.",
    )
    margin = models.FloatField(
        default=0.0,
        db_default=0.0,
        validators=(validate_finite, MinValueValidator(0)),
        help_text="Agents closer than this in rating count as equal; 1 is about 45 Elo.",
    )
    parameters = models.JSONField(
        default=dict,
        blank=True,
        help_text='What the question needs, such as {"k": 3}; agents by name.',
    )
    max_core_s = models.FloatField(
        null=True, blank=True, validators=(validate_finite, MinValueValidator(0))
    )
    max_money = models.FloatField(
        null=True, blank=True, validators=(validate_finite, MinValueValidator(0))
    )
    pairing = models.CharField(
        max_length=60,
        choices=pairing_choices,
        blank=True,
        help_text="Who meets whom; empty: as suits the question, or double_round_robin.",
    )
    n_matches = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_MATCHES)),
        help_text="Of each tournament, or the budget of each campaign; none for a season.",
    )
    seed = models.BigIntegerField(
        default=0,
        validators=(MinValueValidator(0),),
        help_text="Of the first tournament; each later one takes the next, so that no game recurs.",
    )
    is_rated = models.BooleanField(default=True)
    keeps_trajectories = models.BooleanField(default=False)
    trajectory_days = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=(MinValueValidator(1), MaxValueValidator(MAX_DAYS))
    )
    order_limit = models.PositiveIntegerField(
        null=True, blank=True, validators=(MinValueValidator(1),)
    )

    # SET_NULL: a row of beat that somebody deletes takes no schedule and its runs with it.
    periodic_task = models.OneToOneField(
        PeriodicTask, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    last_tournament = models.ForeignKey(
        Tournament, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    n_started = models.PositiveIntegerField(default=0, editable=False)
    n_skipped = models.PositiveIntegerField(default=0, editable=False)
    problem = models.CharField(
        max_length=300, blank=True, editable=False, help_text="Why the last time was passed over."
    )
    created_at = models.DateTimeField(editable=False)
    since_at = models.DateTimeField(
        default=utc_now,
        editable=False,
        help_text="When it was added, changed or enabled last: times before are not made up for.",
    )

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(crontab="", once_at__isnull=False)
                | (~models.Q(crontab="") & models.Q(once_at__isnull=True)),
                name="schedule_has_one_time",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that cannot be read on a page."""
        if is_named_anew(self):
            check_name(self.name)


class ScheduleRun(models.Model):
    """One time at which a schedule was due: its tournament or season, or why there is none."""

    schedule = models.ForeignKey(
        Schedule, on_delete=models.CASCADE, db_index=False, related_name="runs"
    )
    due_at = models.DateTimeField(help_text="The minute at which it was due.")
    tournament = models.OneToOneField(
        Tournament, null=True, on_delete=models.SET_NULL, related_name="schedule_run"
    )
    season = models.ForeignKey(Season, null=True, on_delete=models.SET_NULL, related_name="+")
    problem = models.CharField(max_length=300, blank=True, help_text="Why it was passed over.")

    class Meta:
        ordering = ("-due_at",)
        constraints = (
            # Also the index of the query: the runs of a schedule by time.
            models.UniqueConstraint(fields=("schedule", "due_at"), name="schedule_run_once"),
        )

    def __str__(self) -> str:
        return f"{self.schedule_id} at {self.due_at:%Y-%m-%d %H:%M}"
