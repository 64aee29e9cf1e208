"""Fair shares: tournaments that run at the same time divide the play nodes by their weights.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): every order begins where the one before it of
its tournament ends, each ends its work by weight later, and the order that begins first is sent
next. So of two tournaments that always have pending matches, each gets slot-seconds by its weight,
whatever the length of its matches, and none waits for more than an order of each other one. A
tournament that had nothing pending goes on where the others are: it neither saves up nor owes.
While the length of its matches is not known, its orders are charged by a guess, and by the truth
as soon as there is one.
"""

from collections.abc import Iterable
from typing import NamedTuple

from matches.models import Tournament

GUESS_S = 2.0
"""Length of a match while none has ended."""
_KEY = "nodes"


class Last(NamedTuple):
    """Where the latest order of a tournament began and ends, in seconds of work by weight."""

    begun: float = 0.0
    ended: float = 0.0
    n_guessed: int = 0
    """Matches charged at the length that was guessed."""


def estimate_work_s(n_matches: int, mean_match_s: float | None) -> float:
    """Return the slot-seconds that matches take."""
    return n_matches * (GUESS_S if mean_match_s is None else mean_match_s)


def find_current_place(tournaments: Iterable[Tournament]) -> float:
    """Return where the nodes are: where the order that was sent last began."""
    return max((_read_last_order(tournament).begun for tournament in tournaments), default=0.0)


def find_next_begin(tournament: Tournament, at: float) -> float:
    """Return where the next order of a tournament begins, when the nodes are there."""
    return max(_read_last_order(tournament).ended, at)


def charge_order(tournament: Tournament, at: float, n_matches: int) -> None:
    """Note an order that was sent when the nodes were there."""
    last, mean_s = _read_last_order(tournament), tournament.mean_match_s
    begun = max(last.ended, at)
    ended = begun + estimate_work_s(n_matches, mean_s) / tournament.weight
    n_guessed = last.n_guessed + n_matches if mean_s is None else 0
    tournament.shares = {_KEY: Last(begun, ended, n_guessed)}
    Tournament.objects.filter(pk=tournament.pk).update(shares=tournament.shares)


def _read_last_order(tournament: Tournament) -> Last:
    """Return its latest order, with what was guessed corrected once the length is known."""
    last = Last(*tournament.shares.get(_KEY, ()))
    if not last.n_guessed or tournament.mean_match_s is None:
        return last
    ended = last.ended + last.n_guessed * (tournament.mean_match_s - GUESS_S) / tournament.weight
    # Matches shorter than guessed may end before the order was thought to begin.
    return Last(min(last.begun, ended), ended)
