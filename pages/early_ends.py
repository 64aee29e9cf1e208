"""Why a tournament in rounds has no winner, and what to do: stopped, cancelled, paused, spoilt."""

from collections.abc import Sequence
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from arena.pairing import registry as pairings
from matches.ledger.pairing_warnings import is_campaign_over
from matches.models import Tournament
from pages.brackets import InRounds

MAY_CHANGE = "matches.change_tournament"
MOST_NAMED = 4
_STATES = Tournament.State


class Note(NamedTuple):
    """A sentence, and the act that mends it: a link where the reader may, else a command."""

    words: str
    act: str = ""
    address: str = ""
    command: str = ""


def list_notes(request: HttpRequest, tournament: Tournament, in_rounds: InRounds) -> list[Note]:
    """Return what keeps the rounds from their end, and what was spoilt on the way."""
    notes = list[Note]()
    if not in_rounds.is_decided and (note := _describe_end(request, tournament, in_rounds)):
        notes.append(note)
    if n_void := tournament.n_void:
        verb, them = ("match is", "it") if n_void == 1 else ("matches are", "them")
        address = f"{reverse('matches')}?tournament={tournament.pk}&state=void"
        words = f"{n_void:,} {verb} void and gave nobody points; an operator can requeue {them}."
        notes.append(Note(words, f"See {them}", address))
    return notes


def _describe_end(request: HttpRequest, tournament: Tournament, in_rounds: InRounds) -> Note | None:
    goal = pairings.get_adaptive(tournament.pairing).goal
    if tournament.state == _STATES.DONE and is_campaign_over(tournament):
        return Note(f"Ended before {goal}, together with its campaign.")
    if tournament.state == _STATES.DONE:
        words = f"Stopped before {goal}: {_describe_spent(tournament)}. Extend it to play on."
        command = f"./run extend {tournament.pk} --matches {in_rounds.n_needed}"
        return _offer_act(request, tournament, words, "extend", command)
    if tournament.state == _STATES.PAUSED:
        command = f"./run resume {tournament.pk}"
        words = f"Paused before {goal}: resume it to play on."
        return _offer_act(request, tournament, words, "resume", command)
    if tournament.state == _STATES.CANCELLED:
        why = f" ({tournament.problem})" if tournament.problem else ""
        words = f"Cancelled before {goal}{why}: what was played stays, nothing more is played."
        return Note(words)
    return None


def _describe_spent(tournament: Tournament) -> str:
    """Return how the budget was spent; not all matches have to be played."""
    n_unplayed = tournament.n_matches - tournament.n_done
    if not n_unplayed:
        return f"its budget of {tournament.n_matches:,} matches is used up"
    parts = ((tournament.n_void, "void"), (tournament.n_cancelled, "cancelled"))
    n_left = n_unplayed - tournament.n_void - tournament.n_cancelled
    counts = [f"{n:,} {words}" for n, words in (*parts, (n_left, "not played")) if n]
    return (
        f"{tournament.n_done:,} of the {tournament.n_matches:,} matches of its budget "
        f"{'was' if tournament.n_done == 1 else 'were'} played, {', '.join(counts)}"
    )


def describe_reach(tournament: Tournament, in_rounds: InRounds) -> str:
    """Return how far rounds without a winner have come, in a sentence; empty for all others."""
    if in_rounds.is_decided or not tournament.n_done:
        return ""
    is_over = tournament.state in Tournament.OVER
    verb = "Nobody won" if is_over else "Nobody has won yet"
    if in_rounds.stages:
        stage = in_rounds.stages[0].title.lower()
        place = f"it ended in the {stage}" if is_over else f"play is in the {stage}"
        return f"{verb}: {place.replace('the stage', 'stage')}, and the final decides."
    # Who is still in has no place yet; the furthest stand first.
    names = [row.agent.name for row in in_rounds.table if row.rank is None]
    if not in_rounds.rounds or not names:
        return ""
    reached = in_rounds.table[0].reached
    furthest = [
        row.agent.name for row in in_rounds.table if row.rank is None and row.reached == reached
    ]
    first = join_names(furthest, most=MOST_NAMED)
    n_more = len(names) - len(furthest)
    more = f"; {n_more} more {'is' if n_more == 1 else 'are'} still in" if n_more else ""
    return f"{verb}: {first} reached the {reached[0].lower()}{reached[1:]}{more}."


def join_names(names: Sequence[str], *, most: int) -> str:
    """Return names as a sentence lists them, the rest of them by their number."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _offer_act(
    request: HttpRequest, tournament: Tournament, words: str, act: str, command: str
) -> Note:
    if not request.user.has_perm(MAY_CHANGE):
        return Note(words, command=command)
    address = reverse("admin:matches_tournament_ask", args=[act])
    return Note(words, f"{act.capitalize()} it", f"{address}?pk={tournament.pk}&from=row")
