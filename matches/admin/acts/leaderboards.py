"""What an operator does with leaderboards."""

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.models import Leaderboard, Match, Rating, Season
from matches.models.choices import SeasonMode
from matches.ratings import rerating, seasons
from matches.store.auditing import MAX_REASON
from matches.store.formats import format_ago, format_count

CHANGE = "matches.change_leaderboard"


class Rerate(Act[Leaderboard]):
    """Compute all ratings of a leaderboard again."""

    name, title, icon, permission = "rerate", "Rate again", "calculate", CHANGE
    question = "Rate leaderboards again?"
    consequence = (
        "Control forgets the ratings and computes them again from all outcomes that count. The "
        "outcomes stay, so the same outcomes give the same ratings; until it is done the board "
        "shows the old ones."
    )
    counts = "outcomes"
    form = ReasonForm

    def preview_effect(self, chosen: ChosenRow[Leaderboard]) -> Effect:
        """Return how much would be computed."""
        row = chosen.row
        if row.is_rerating:
            return refuse_act("that was asked already, and control has not done it yet")
        rated = (
            f"rated{format_ago(row.rated_at, now=chosen.now)}" if row.rated_at else "not rated yet"
        )
        says = f"{row.n_counted:,} outcomes of {format_count(_count_agents(row), 'agent')}, {rated}"
        return Effect(says, n=row.n_counted)

    def perform_act(self, chosen: ConfirmedRow[Leaderboard]) -> str:
        reason = chosen.values["reason"]
        rerating.request_rerating(chosen.row, actor=chosen.actor, reason=reason, now=chosen.now)
        return f"{chosen.row} is rated again within seconds"


class SeasonForm(forms.Form):
    """The name of the season, and why it ends if somebody wants to say so."""

    name = forms.CharField(
        label="Name of the season",
        max_length=Season._meta.get_field("name").max_length,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Such as 2026 spring; once on a leaderboard.",
    )
    reason = forms.CharField(
        max_length=MAX_REASON, required=False, widget=UnfoldAdminTextInputWidget
    )


class Freeze(Act[Leaderboard]):
    """Keep a leaderboard as it stands."""

    name, title, icon, permission = "freeze", "Freeze a season", "ac_unit", CHANGE
    question = "Freeze a season?"
    consequence = (
        "Ranks and ratings are kept for ever as they stand now; the leaderboard itself goes on. "
        "A season cannot be changed or deleted."
    )
    form = SeasonForm
    takes_many = False

    def preview_effect(self, chosen: ChosenRow[Leaderboard]) -> Effect:
        """Return who would stand in the season."""
        row = chosen.row
        n_before = Season.objects.filter(leaderboard=row).count()
        before = f"{format_count(n_before, 'season')} before"
        return Effect(
            f"{format_count(_count_agents(row), 'agent')}, {row.n_counted:,} outcomes, {before}"
        )

    def perform_act(self, chosen: ConfirmedRow[Leaderboard]) -> str:
        season = seasons.freeze(
            chosen.row,
            chosen.values["name"],
            actor=chosen.actor,
            reason=chosen.values["reason"],
            now=chosen.now,
        )
        return f"season {season} of {chosen.row} keeps {format_count(season.n_agents, 'agent')}"


class BeginForm(SeasonForm):
    """The season that begins, and what becomes of the results so far."""

    mode = forms.ChoiceField(
        label="Results so far",
        # Nothing is chosen before: a reset cannot be taken back.
        choices=[("", "Choose what becomes of them"), *SeasonMode.choices],
        widget=UnfoldAdminSelectWidget,
    )


class Begin(Act[Leaderboard]):
    """Begin a season on a leaderboard."""

    name, title, icon, permission = "begin", "Begin a season", "restart_alt", CHANGE
    question = "Begin a season?"
    consequence = (
        "What stands now is frozen for ever as the season that ends. A reset gives everybody the "
        "prior again: matches that were planned before count no more, also those under way. "
        "Outcomes and history stay; the counts do not come back."
    )
    form = BeginForm
    takes_many = False
    is_grave = True

    def preview_effect(self, chosen: ChosenRow[Leaderboard]) -> Effect:
        """Return what counts now, and how many matches are under way."""
        row = chosen.row
        n_open = Match.objects.filter(Match.is_open(), leaderboard=row).count()
        season = row.season_name or "no season"
        counts = f"{format_count(_count_agents(row), 'agent')}, {row.n_counted:,} outcomes"
        return Effect(f"{season}: {counts}, matches under way: {n_open:,}")

    def perform_act(self, chosen: ConfirmedRow[Leaderboard]) -> str:
        values = chosen.values
        ended = seasons.begin(
            chosen.row,
            values["name"],
            mode=SeasonMode(values["mode"]),
            actor=chosen.actor,
            reason=values["reason"],
            now=chosen.now,
        )
        return f"season {values['name']} of {chosen.row} has begun; {ended} is frozen"


def _count_agents(board: Leaderboard) -> int:
    return Rating.objects.filter(leaderboard=board).count()


ACTS = (Freeze(), Begin(), Rerate())
