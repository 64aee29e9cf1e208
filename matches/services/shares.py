"""Fair shares: tournaments that run at the same time divide the play nodes by their weights.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): every order begins where the one before it of
its tournament ends, each ends its work by weight later, and the order that begins first is sent
next. So of two tournaments that always have pending matches, each gets slot-seconds by its weight,
whatever the length of its matches, and none waits for more than an order of each other one. A
tournament that had nothing pending goes on where the others are: it neither saves up nor owes.
"""

from collections.abc import Iterable

from matches.models import Tournament

_LAST = "play"


def clock(tournaments: Iterable[Tournament]) -> float:
    """Return where the nodes are: where the order that was sent last began."""
    return max((_last(tournament)[0] for tournament in tournaments), default=0.0)


def begins(tournament: Tournament, at: float) -> float:
    """Return where the next order of a tournament begins, when the nodes are there."""
    return max(_last(tournament)[1], at)


def charge(tournament: Tournament, at: float, work_s: float) -> None:
    """Note an order of so many slot-seconds that was sent when the nodes were there."""
    begun = begins(tournament, at)
    tournament.shares[_LAST] = [begun, begun + work_s / tournament.weight]
    Tournament.objects.filter(pk=tournament.pk).update(shares=tournament.shares)


def _last(tournament: Tournament) -> tuple[float, float]:
    begun, ended = tournament.shares.get(_LAST, (0.0, 0.0))
    return float(begun), float(ended)
