"""Who is to blame when a player had to be killed or died: a seat, the game, or nobody yet.

A call of one row that takes too long is proof. Of a block, every match becomes a suspect; so does
the match whose call ended in the player's death. A suspect goes on alone, in a hand of its own,
until it has moved: dying there, it is guilty, unless somebody else may have killed its player: then
control charges it only if another attempt ends alike. All others go on from their recorded actions.
"""

from collections.abc import Callable, Sequence

from arena.games.base import forfeit_ranks
from arena.messages import Ending, Limits, Reason
from workers.current_call import Phase, Sighting
from workers.pool import Player
from workers.progress import Entry, Ledger, failed, interrupted
from workers.wire import EndedRow

MAX_LOSSES = 3
"""A match whose player was lost so often, without proof against a seat, fails."""


def executing(player: Player, sighting: Sighting) -> list[Entry]:
    """Return the matches in the call that a player shows."""
    match sighting.phase:
        case Phase.POLICY | Phase.GAME:
            indices = [sighting.subject]
        case Phase.BLOCK:
            indices = player.block
        case _:
            indices = []
    return [player.hand[index] for index in indices if index in player.hand]


def begun(player: Player, sighting: Sighting) -> list[Entry]:
    """Return the matches of a player that have begun and not ended."""
    now = {entry.index for entry in executing(player, sighting)} | player.begun
    return [entry for entry in player.hand.values() if entry.actions or entry.index in now]


def charge(player: Player, sighting: Sighting, seconds: float) -> Entry | None:
    """Add a call's seconds to its matches; return the one that has used the most, if any."""
    rows = executing(player, sighting)
    for entry in rows:
        entry.spent_s[_payer(entry, sighting)] += seconds / len(rows)
    return max(rows, key=lambda entry: sum(entry.spent_s), default=None)


def _payer(entry: Entry, sighting: Sighting) -> int:
    """Return the seat that a call belongs to; the last place is the game's."""
    if sighting.phase is Phase.POLICY and sighting.seat < len(entry.row.seats):
        return sighting.seat
    if sighting.phase is Phase.BLOCK and sighting.subject in entry.row.seats:
        return entry.row.seats.index(sighting.subject)
    return -1


class Inquest:
    """Closes or suspects the matches in the hands of lost players, and lets the others wait."""

    def __init__(
        self, ledger: Ledger, limits: Limits, end: Callable[[Entry, EndedRow], None]
    ) -> None:
        self._ledger, self._limits, self._end = ledger, limits, end

    def died(self, player: Player, sighting: Sighting) -> None:
        """Deal with the hand of a player that died by itself."""
        if sighting.phase is Phase.WAIT:
            self._lose(player, begun(player, sighting))
            return
        accused = executing(player, sighting) or begun(player, sighting)
        accused = accused or list(player.hand.values())
        for entry in accused:
            is_proven = len(accused) == 1 and entry.is_struck
            self._accuse(player, entry, sighting, is_proven=is_proven)
        self._scatter(player)

    def hung(self, player: Player, sighting: Sighting) -> None:
        """Deal with the hand of a player that was killed because one call took too long."""
        accused = executing(player, sighting)
        for entry in accused:
            if len(accused) == 1:
                self._time_out(player, entry, sighting)
            else:
                self._suspect(player, entry)
        self._scatter(player)

    def overran(self, player: Player, entry: Entry) -> None:
        """Deal with the hand of a player that was killed because one match took too long in all."""
        if entry.index in player.hand:  # else it ended just before the kill
            self._close(player, entry, self._overrun(entry))
        self._scatter(player)

    def _overrun(self, entry: Entry) -> EndedRow:
        spent = entry.spent_s
        payer = max(range(len(spent)), key=spent.__getitem__)
        seat = payer if payer < len(spent) - 1 else -1
        whose = f"most of them seat {seat}'s" if seat >= 0 else "most of them the game's"
        detail = f"the match took over {self._limits.match_s:g} s, {whose}"
        return failed(entry, Reason.TIMEOUT, detail, seat=seat)

    def held(self, player: Player, sighting: Sighting) -> None:
        """Deal with the hand of a player that was stopped or starved: no seat is to blame."""
        for entry in executing(player, sighting):
            entry.n_losses += 1
            if entry.n_losses >= MAX_LOSSES:
                detail = f"its player stood still for {self._limits.match_s:g} s and was lost"
                self._close(player, entry, failed(entry, Reason.TIMEOUT, detail))
        self._scatter(player)

    def unanswered(self, player: Player, sighting: Sighting) -> None:
        """Deal with the hand of a player that was killed because it waited without an end."""
        for entry in begun(player, sighting):
            detail = "its player waited without an end for what is computed elsewhere"
            self._close(player, entry, interrupted(entry, detail, reason=Reason.GPU_LOST))
        self._scatter(player)

    def _lose(self, player: Player, entries: Sequence[Entry]) -> None:
        """Let matches go on whose player died while nobody's code ran: no seat is to blame."""
        for entry in entries:
            entry.lose()
            if entry.n_losses >= MAX_LOSSES:
                detail = f"its player was lost {MAX_LOSSES} times, the last one {player.fate}"
                self._close(player, entry, failed(entry, Reason.ERROR, detail))
        self._scatter(player)

    def spared(self, player: Player) -> None:
        """Deal with the hand of a player whose call returned just before it was killed."""
        self._scatter(player)

    def _accuse(self, player: Player, entry: Entry, sighting: Sighting, *, is_proven: bool) -> None:
        how = player.fate
        if is_proven and sighting.phase is Phase.POLICY:
            seat = sighting.seat
            detail = f"its player {how} twice while seat {seat} decided"
            if player.is_own_doing:
                self._close(player, entry, _crashed(entry, seat, detail))
            else:
                # As by a machine that is out of memory: proof only if another attempt ends so.
                self._close(player, entry, failed(entry, Reason.CRASH, detail, seat=seat))
        elif is_proven and sighting.phase is Phase.GAME:
            detail = f"its player {how} twice in the game"
            self._close(player, entry, failed(entry, Reason.ERROR, detail))
        elif entry.n_losses + 1 >= MAX_LOSSES:
            detail = f"its player was lost {MAX_LOSSES} times, the last one {how}"
            self._close(player, entry, failed(entry, Reason.ERROR, detail))
        else:
            self._suspect(player, entry)

    def _suspect(self, player: Player, entry: Entry) -> None:
        del player.hand[entry.index]
        self._ledger.suspect(entry)

    def _time_out(self, player: Player, entry: Entry, sighting: Sighting) -> None:
        is_policy = sighting.phase in (Phase.POLICY, Phase.BLOCK)
        seat = _payer(entry, sighting) if is_policy else -1
        who = f"seat {seat}" if seat >= 0 else "the game"
        detail = f"{who} took over {self._limits.move_s:g} s for one step"
        self._close(player, entry, failed(entry, Reason.TIMEOUT, detail, seat=seat))

    def _close(self, player: Player, entry: Entry, ended: EndedRow) -> None:
        del player.hand[entry.index]
        self._end(entry, ended)

    def _scatter(self, player: Player) -> None:
        """Let what is left of a hand wait again."""
        self._ledger.put_back([player.hand[index] for index in sorted(player.hand)])
        player.hand.clear()


def _crashed(entry: Entry, seat: int, detail: str) -> EndedRow:
    n_seats = len(entry.row.seats)
    return EndedRow(
        entry.index, Ending.FORFEIT, forfeit_ranks(seat, n_seats), Reason.CRASH, seat, detail, 0
    )
