"""Why a tournament in rounds has no winner, and what to do: stopped, cancelled, paused, spoilt."""

from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from arena.pairing import registry as pairings
from matches.models import Tournament
from pages.brackets import InRounds

MAY_CHANGE = "matches.change_tournament"
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
    if tournament.state == _STATES.DONE:
        budget = f"Stopped by its budget of {tournament.n_matches:,} matches before {goal}:"
        command = f"./run extend {tournament.pk} --matches {in_rounds.n_needed}"
        return _offer_act(request, tournament, f"{budget} extend it.", "extend", command)
    if tournament.state == _STATES.PAUSED:
        command = f"./run resume {tournament.pk}"
        words = f"Paused before {goal}: resume it to play on."
        return _offer_act(request, tournament, words, "resume", command)
    if tournament.state == _STATES.CANCELLED:
        why = f" ({tournament.problem})" if tournament.problem else ""
        words = f"Cancelled before {goal}{why}: what was played stays, nothing more is played."
        return Note(words)
    return None


def _offer_act(
    request: HttpRequest, tournament: Tournament, words: str, act: str, command: str
) -> Note:
    if not request.user.has_perm(MAY_CHANGE):
        return Note(words, command=command)
    address = reverse("admin:matches_tournament_ask", args=[act])
    return Note(words, f"{act.capitalize()} it", f"{address}?pk={tournament.pk}&from=row")
