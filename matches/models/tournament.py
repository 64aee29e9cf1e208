"""Tournaments: who meets whom, how often, under which limits."""

import secrets
from typing import Any

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from arena.messages import FaultRates, Limits
from matches.models.agent import Agent
from matches.models.choices import pairing_choices
from matches.models.leaderboard import Leaderboard
from matches.models.validation import check_name, check_pairing, is_named_anew, validate_finite

MAX_MATCHES = 100_000_000
# What a small column takes on PostgreSQL; SQLite would take more.
MAX_DAYS = 32_767
MAX_WEIGHT = 1_000
_LIMITS = (validate_finite, MinValueValidator(0.01), MaxValueValidator(86_400))


def new_key() -> str:
    """Return a random key; the tokens of a tournament's matches are made with it."""
    return secrets.token_hex(16)


class Limited(models.Model):
    """The fields that tournaments, and the schedules that start them, share."""

    pairing_parameters = models.JSONField(
        default=dict, blank=True, help_text='Of the pairing, such as {"best_of": 5}.'
    )
    weight = models.PositiveSmallIntegerField(
        default=1,
        # In the database, too: code that does not know the column yet may still insert rows.
        db_default=1,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_WEIGHT)),
        help_text="Its share of the nodes against that of others that run at the same time.",
    )
    move_s = models.FloatField(default=Limits().move_s, validators=_LIMITS)
    match_s = models.FloatField(default=Limits().match_s, validators=_LIMITS)

    class Meta:
        abstract = True


class Tournament(Limited):
    """A plan of matches between agents of one leaderboard, and how far it has come."""

    class State(models.TextChoices):
        """Where a tournament stands; control plans what is scheduled and leaves what is paused."""

        SCHEDULED = "scheduled"
        PLANNING = "planning"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        CANCELLED = "cancelled"

    OVER = (State.DONE, State.CANCELLED)
    UNDER_WAY = (State.SCHEDULED, State.PLANNING, State.RUNNING, State.PAUSED)
    # What control has work for: the condition of the index tournament_active.
    ACTIVE = (State.SCHEDULED, State.PLANNING, State.RUNNING)
    TO_PLAN = (State.SCHEDULED, State.PLANNING)
    # A pairing that goes by results plans while it plays.
    PLAYING = (State.PLANNING, State.RUNNING)

    leaderboard = models.ForeignKey(
        Leaderboard, on_delete=models.PROTECT, related_name="tournaments"
    )
    name = models.CharField(max_length=120)
    pairing = models.CharField(max_length=60, choices=pairing_choices, default="double_round_robin")
    n_matches = models.PositiveIntegerField(
        validators=(MinValueValidator(1), MaxValueValidator(MAX_MATCHES)),
        help_text="The most matches; it ends earlier where its pairing is complete.",
    )
    seed = models.BigIntegerField(
        default=0,
        validators=(MinValueValidator(0),),
        help_text="The seed set: the same number replays the same pairings and games.",
    )
    faults = models.JSONField(
        null=True, blank=True, help_text="Faults to emulate, to try the platform; usually empty."
    )
    is_rated = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Unrated outcomes change no rating; only then may an agent play itself.",
    )
    keeps_trajectories = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Store observation, action, reward ... of every decision.",
    )
    trajectory_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_DAYS)),
        help_text="Delete them after so many days; empty: never.",
    )
    order_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=(MinValueValidator(1),),
        help_text="The most matches a node takes at a time; empty: by how long they last.",
    )
    shares = models.JSONField(
        default=dict,
        editable=False,
        help_text="Where its latest order began and ends, in seconds of work by weight.",
    )
    replays = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Play again what is known, to see that it comes out the same.",
    )
    agents = models.ManyToManyField(Agent, through="Entrant", related_name="tournaments")
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.SCHEDULED, editable=False
    )
    seeding = models.JSONField(
        default=list,
        editable=False,
        help_text="Positions of the entrants as they stood at the start, the best first.",
    )
    key = models.CharField(max_length=32, default=new_key, editable=False)
    problem = models.CharField(
        max_length=300, blank=True, editable=False, help_text="Why it could not be planned."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    # Kept by the services that move matches, so that no page counts matches.
    n_planned = models.PositiveIntegerField(default=0, editable=False)
    n_done = models.PositiveIntegerField(default=0, editable=False)
    n_forfeits = models.PositiveIntegerField(default=0, editable=False)
    n_void = models.PositiveIntegerField(
        default=0, editable=False, help_text="Without those that are played again."
    )
    n_cancelled = models.PositiveIntegerField(default=0, editable=False)
    n_replaced = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Void ones that are played again."
    )
    n_retried = models.PositiveIntegerField(default=0, editable=False)
    n_known = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Of those done: known from an earlier tournament, so not played again.",
    )
    n_differing = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Of those done: played again, and came out otherwise than before.",
    )
    shares_seed = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Another tournament plays the same blocks: what is recorded is looked up.",
    )
    rules_version = models.PositiveIntegerField(
        default=1, db_default=1, editable=False, help_text="Of the game, as planned."
    )
    n_refused = models.PositiveIntegerField(
        default=0, editable=False, help_text="Reports that came late, doubled or without a token."
    )
    played_s = models.FloatField(
        default=0, db_default=0, editable=False, help_text="Length of all its matches together."
    )
    lost_s = models.FloatField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Length of all attempts without an outcome together, as far as nodes said it.",
    )
    booked_s = models.FloatField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Of both, what is entered in the costs by day.",
    )
    mean_match_s = models.FloatField(
        null=True, editable=False, help_text="Measured length of a match; sizes the orders."
    )

    class Meta:
        ordering = ("-id",)
        indexes = (
            # Query: tournaments that control has work for.
            models.Index(
                fields=("state",),
                condition=models.Q(state__in=("scheduled", "planning", "running")),
                name="tournament_active",
            ),
            # Query: those that wait for somebody to resume them, which control looks at, too.
            models.Index(
                fields=("state",),
                condition=models.Q(state="paused"),
                name="tournament_paused",
            ),
            # Query: the tournaments that play the same blocks.
            models.Index(fields=("seed",), name="tournament_of_seed"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def shown_state(self) -> str:
        """Its state as pages show it: one that is planned while it plays is running."""
        is_playing = self.state == self.State.PLANNING and self.n_planned
        return self.State.RUNNING.value if is_playing else str(self.state)

    def clean(self) -> None:
        """Refuse an unknown pairing, faults that are not rates and days for nothing kept."""
        if is_named_anew(self):
            check_name(self.name)
        check_pairing(self.pairing, self.pairing_parameters)
        if self.trajectory_days is not None and not self.keeps_trajectories:
            refusal = "no trajectories are kept: leave it empty, or keep them"
            raise ValidationError({"trajectory_days": refusal})
        if self.faults is not None:
            parse_faults(self.faults)

    @property
    def n_closed(self) -> int:
        """Matches that will not change any more; forfeits are among the done ones."""
        return self.n_done + self.n_void + self.n_cancelled

    @property
    def shown_parts(self) -> str:
        """What became of its matches where its end left some unplayed; empty for all others."""
        is_cancelled = self.state == self.State.CANCELLED
        if not (is_cancelled or (self.state == self.State.DONE and self.n_cancelled)):
            return ""
        # Also a budget of core time may have ended it: nobody knows here that none was needed.
        parts = (
            (self.n_done - self.n_known, "played"),
            (self.n_known, "known before"),
            (self.n_void, "void"),
            (self.n_cancelled, "cancelled" if is_cancelled else "cancelled when it ended"),
            (is_cancelled * (self.n_matches - self.n_closed), "never planned"),
        )
        return ", ".join(f"{n:,} {words}" for n, words in parts if n or words == "played")


class Entrant(models.Model):
    """An agent's place in a tournament; the position is its index in the pairing."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("position",)
        constraints = (
            models.UniqueConstraint(fields=("tournament", "agent"), name="entrant_once"),
            models.UniqueConstraint(fields=("tournament", "position"), name="entrant_position"),
        )

    def __str__(self) -> str:
        return f"{self.position}: {self.agent_id}"


def parse_faults(raw: Any) -> FaultRates:
    """Return the rates. Raises ValidationError naming the rate that is wrong."""
    try:
        rates = msgspec.convert(raw, type=FaultRates)
    except msgspec.ValidationError as error:
        raise ValidationError({"faults": str(error)}) from error
    total = rates.error_rate + rates.invalid_rate + rates.hang_rate
    if total > 1:
        raise ValidationError({"faults": f"the rates must add up to at most 1, got {total:g}"})
    if rates.charge not in ("platform", "agent"):
        raise ValidationError({"faults": f"charge must be platform or agent, got {rates.charge!r}"})
    return rates
