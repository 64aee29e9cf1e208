"""Leaderboards: agents of one game under one set of rules, ordered by rating."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from matches.models.choices import game_choices
from matches.models.validation import (
    check_game,
    check_name,
    check_opening,
    is_named_anew,
    validate_finite,
)
from matches.models.versions import LENGTH, short_version, version_of_game


class Leaderboard(models.Model):
    """One field of agents whose results are comparable: one game, one set of rules."""

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=120, blank=True)
    game = models.CharField(max_length=60, choices=game_choices)
    game_parameters = models.JSONField(default=dict, blank=True)
    opening_plies = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Seeded random plies; empty: the game's own number."
    )
    game_version = models.CharField(
        max_length=LENGTH,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Of the rules it was opened under: as declared, of a plug-in the "
        "SHA-256 of its file.",
    )
    draw_probability = models.FloatField(
        default=0.10,
        validators=(validate_finite, MinValueValidator(0.001), MaxValueValidator(0.9)),
        help_text="Of a match between equals, as it is thought of before results; it is fitted.",
    )
    is_rated = models.BooleanField(
        default=True,
        db_default=True,
        editable=False,
        help_text="False: only unrated play is kept here, and no page shows its ratings.",
    )
    is_listed = models.BooleanField(
        "listed",
        default=True,
        db_default=True,
        help_text="Stands on the home page and in the list of leaderboards.",
    )
    is_pinned = models.BooleanField(
        "pinned", default=False, db_default=False, help_text="Stands before the others there."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    next_sequence = models.PositiveBigIntegerField(
        default=1, editable=False, help_text="Number of the next match to plan."
    )
    prefix_sequence = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Every match up to here is closed and folded."
    )
    n_counted = models.PositiveBigIntegerField(default=0, editable=False)
    n_settled = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Outcomes behind the settled ratings shown."
    )
    results_hash = models.CharField(max_length=64, blank=True, editable=False)
    spread = models.FloatField(null=True, editable=False, help_text="Fitted sd of skill.")
    fitted_draw_probability = models.FloatField(
        null=True, editable=False, help_text="The draw probability that explains the results."
    )
    seat_mu = models.FloatField(
        null=True, editable=False, help_text="Advantage of the first of two seats, as a rating."
    )
    seat_sd = models.FloatField(null=True, editable=False, help_text="Its doubt.")
    leader_p_best = models.FloatField(
        null=True,
        editable=False,
        help_text="P(the first rank is the best), by the settled ratings; empty: not known yet.",
    )
    rated_at = models.DateTimeField(null=True, editable=False)
    fitted_at = models.DateTimeField(
        null=True, editable=False, help_text="When the latest fit of the settled ratings began."
    )
    season_name = models.CharField(
        max_length=80, blank=True, default="", db_default="", editable=False
    )
    season_began_at = models.DateTimeField(null=True, editable=False)
    # Not always the beginning of the season: a later one may carry the results on.
    ratings_reset_at = models.DateTimeField(
        null=True, editable=False, help_text="When a season last gave everybody the prior again."
    )
    season_first_sequence = models.PositiveBigIntegerField(
        default=1,
        db_default=1,
        editable=False,
        help_text="Matches planned before it count for earlier seasons only.",
    )
    n_rerates_asked = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="More than done: control has to rerate."
    )
    n_rerates_done = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Asked for and computed since."
    )

    class Meta:
        ordering = ("-id",)
        indexes = (
            # Query: the listed boards, pinned first. Those of single evaluations may be thousands.
            models.Index(
                fields=("-is_pinned", "-id"),
                condition=models.Q(is_listed=True),
                name="board_listed",
            ),
        )

    def __str__(self) -> str:
        return self.title or self.name

    def clean(self) -> None:
        """Refuse parameters that the game does not take; note the rules of a new leaderboard."""
        if is_named_anew(self, field="title"):
            check_name(self.title, field="title")
        game = check_game(self.game, self.game_parameters)
        if self._state.adding:
            if self.opening_plies is not None:
                check_opening(game, self.opening_plies)
            self.game_version = version_of_game(self.game)

    @property
    def shown_version(self) -> str:
        """The version of its rules, short enough to read."""
        return short_version(self.game_version)

    @property
    def current_draw_probability(self) -> float:
        """The fitted draw probability of equal agents; before there is one, what was thought."""
        fitted = self.fitted_draw_probability
        return self.draw_probability if fitted is None else fitted

    @property
    def is_rerating(self) -> bool:
        """True while its ratings are to be computed again from all outcomes that count."""
        return self.n_rerates_asked > self.n_rerates_done

    @property
    def plies(self) -> int:
        """The opening plies: its own, else the number of the game."""
        if self.opening_plies is not None:
            return self.opening_plies
        return check_game(self.game, self.game_parameters).spec.opening_plies
