"""Matches and their seats. The row is the truth; messages about it are only hints."""

from functools import lru_cache

from django.db import models
from django.db.models.expressions import RawSQL

from arena.needs import CPU, MAX_LENGTH
from matches.models.agent import Agent
from matches.models.choices import is_in_state
from matches.models.leaderboard import Leaderboard
from matches.models.order import Order
from matches.models.tournament import Tournament


class Match(models.Model):
    """A unit of rating between named agents."""

    class State(models.TextChoices):
        """PENDING -> QUEUED -> RUNNING -> DONE | VOID | CANCELLED; a lost attempt goes back.

        A match that is VOID and has an outcome was struck: it was DONE and counts no more.
        """

        PENDING = "pending"
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        VOID = "void"
        CANCELLED = "cancelled"

    # The one table of state changes; services update where the state is in `sources(target)`.
    OPEN = (State.PENDING, State.QUEUED, State.RUNNING)
    IN_FLIGHT = (State.QUEUED, State.RUNNING)
    CLOSED = (State.DONE, State.VOID, State.CANCELLED)
    UNPLAYED = (State.VOID, State.CANCELLED)
    TRANSITIONS = {
        State.PENDING: (State.QUEUED, State.DONE, State.VOID, State.CANCELLED),
        State.QUEUED: (State.RUNNING, State.PENDING, State.DONE, State.VOID, State.CANCELLED),
        State.RUNNING: (State.PENDING, State.DONE, State.VOID, State.CANCELLED),
        State.DONE: (State.VOID,),
        State.VOID: (),
        State.CANCELLED: (),
    }

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, db_index=False)
    tournament = models.ForeignKey(
        Tournament, on_delete=models.PROTECT, db_index=False, related_name="matches"
    )
    sequence = models.PositiveBigIntegerField(help_text="Planned place on the leaderboard.")
    block = models.PositiveIntegerField(help_text="How many blocks its agents had before.")
    rotation = models.PositiveSmallIntegerField(help_text="Seat rotation within the block.")
    game_seed = models.PositiveBigIntegerField()
    # Agent ids by seat, as text: the relay, the recorder and the rater read a million of them
    # without a join. Seat holds the same for queries by agent; both are written once, together.
    lineup = models.CharField(max_length=400)
    needs = models.CharField(
        max_length=MAX_LENGTH,
        default=CPU,
        db_default=CPU,
        help_text="What its node must have, and the services it asks: of its game, and of where "
        "its agents' networks run; written at planning.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    order = models.ForeignKey(
        Order, null=True, on_delete=models.SET_NULL, db_index=False, related_name="matches"
    )
    void_reason = models.CharField(max_length=20, blank=True)
    same_as = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="copies",
        help_text="The match of the same agents, seats, game and terms that was over before.",
    )

    class Meta:
        # Most indexes are partial and hold open matches only, so that finished ones cost nothing.
        verbose_name_plural = "matches"
        constraints = (
            models.UniqueConstraint(
                fields=("leaderboard", "sequence"), name="match_sequence_is_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=("pending", "queued", "running", "done", "void", "cancelled")
                ),
                name="match_state_is_known",
            ),
        )
        indexes = (
            # Query: the matches of a tournament, in planned order (pages, admin).
            models.Index(fields=("tournament", "sequence"), name="match_by_tournament"),
            # Query: the relay takes the next pending matches of a tournament with the same needs.
            models.Index(
                fields=("tournament", "needs", "sequence"),
                condition=models.Q(state="pending"),
                name="match_to_send",
            ),
            # Query: the first open match of a leaderboard ends the prefix of the live rating.
            models.Index(
                fields=("leaderboard", "sequence"),
                condition=models.Q(state__in=("pending", "queued", "running")),
                name="match_open",
            ),
            # Query: the matches in flight of an order that has started, ended or is lost.
            models.Index(
                fields=("order",),
                condition=models.Q(state__in=("queued", "running")),
                name="match_in_flight",
            ),
            # Query: the match of these agents in these seats on a known block of a tournament.
            models.Index(fields=("tournament", "block", "lineup"), name="match_of_block"),
            # Query: what was not played again because of a match, or was for nothing; few.
            models.Index(
                fields=("same_as",),
                condition=models.Q(same_as__isnull=False),
                name="match_same_as",
            ),
            # Query: the matches of a tournament that ended so, in planned order; one entry each.
            models.Index(
                fields=("tournament", "state", "sequence"),
                condition=models.Q(state__in=("done", "void", "cancelled")),
                name="match_closed",
            ),
            # Query: the matches that are void or cancelled, newest first, of whatever tournament.
            models.Index(
                fields=("state", "id"),
                condition=models.Q(state__in=("void", "cancelled")),
                name="match_unplayed",
            ),
        )

    def __str__(self) -> str:
        return f"match {self.pk} ({self.state})"

    @classmethod
    def sources(cls, target: State) -> list[State]:
        """Return the states that a match may have before it goes to the target."""
        return [state for state, targets in cls.TRANSITIONS.items() if target in targets]

    @classmethod
    def is_open(cls) -> RawSQL:
        """Return the condition of the index match_open."""
        return is_in_state("matches_match", cls.OPEN)

    @classmethod
    def is_in_flight(cls) -> RawSQL:
        """Return the condition of the index match_in_flight."""
        return is_in_state("matches_match", cls.IN_FLIGHT)

    @classmethod
    def is_closed(cls) -> RawSQL:
        """Return the condition of the index match_closed."""
        return is_in_state("matches_match", cls.CLOSED)

    @classmethod
    def is_unplayed(cls) -> RawSQL:
        """Return the condition of the index match_unplayed."""
        return is_in_state("matches_match", cls.UNPLAYED)

    @property
    def is_differing(self) -> bool:
        """True when it was played again and came out otherwise than the same game before."""
        own, first = getattr(self, "outcome", None), getattr(self.same_as, "outcome", None)
        return own is not None and first is not None and own.result != first.result

    @property
    def agent_ids(self) -> list[int]:
        """The agents by seat, as ids."""
        return parse_numbers(self.lineup)


class Seat(models.Model):
    """An agent at a seat of a match."""

    pk = models.CompositePrimaryKey("match_id", "seat")
    match = models.ForeignKey(
        Match, on_delete=models.CASCADE, db_index=False, related_name="seat_rows"
    )
    seat = models.PositiveSmallIntegerField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, db_index=False)

    class Meta:
        # Not unique by agent: in unrated self-play it has several seats of a match.
        indexes = (
            # Query: the matches of an agent, newest first.
            models.Index(fields=("agent", "match"), name="seat_of_agent"),
        )

    def __str__(self) -> str:
        return f"seat {self.seat} of match {self.match_id}"


class Voiding(models.Model):
    """Why people declared a match void. With an outcome it is struck: no rating counts it."""

    match = models.OneToOneField(
        Match, primary_key=True, on_delete=models.PROTECT, related_name="voiding"
    )
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    was_done = models.BooleanField(help_text="It had an outcome, which stays and counts no more.")

    def __str__(self) -> str:
        return f"match {self.match_id} is void: {self.reason}"


class Replacement(models.Model):
    """A match that is played in the place of a void one: same agents, seats and game seed."""

    # The key keeps it to one for each void match, whoever asks at the same time.
    replaced = models.OneToOneField(
        Match, primary_key=True, on_delete=models.PROTECT, related_name="replacement"
    )
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="replaces")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"match {self.match_id} in the place of {self.replaced_id}"


def parse_numbers(text: str) -> list[int]:
    """Return the integers of a comma-separated column."""
    return [int(part) for part in text.split(",")] if text else []


@lru_cache(maxsize=50_000)
def read_numbers(text: str) -> tuple[int, ...]:
    """Return the same, kept: of a million results the lineups and ranks are few."""
    return tuple(parse_numbers(text))


def join_numbers(values: list[int] | tuple[int, ...]) -> str:
    """Return integers as the text of a comma-separated column."""
    return ",".join(map(str, values))
