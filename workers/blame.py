"""Who is to blame when a player had to be killed or died: a seat, the game, or nobody yet.

A call of one row that takes too long is proof. Of a block, every match becomes a suspect; so does
the match whose call ended in the player's death. A suspect goes on alone in a player until it has
moved: if that player dies as well, the match is guilty, unless somebody else may have killed it:
then control charges it only if another attempt ends alike. All others go on from their actions.
"""

from collections.abc import Callable

from arena.games.base import forfeit_ranks
from arena.messages import Ending, Limits, Reason
from workers.current_call import CurrentCall, Phase
from workers.player_process import PlayerProcess
from workers.progress import MatchProgress, OrderProgress, failed_ending, interrupted_ending
from workers.wire import EndedMatch

# A match whose player was lost so often, without proof against a seat, fails.
MAX_LOSSES = 3


def matches_in_call(player: PlayerProcess, call: CurrentCall) -> list[MatchProgress]:
    """Return the matches that a player was executing in this call."""
    match call.phase:
        case Phase.POLICY | Phase.GAME:
            indices = [call.subject]
        case Phase.BLOCK:
            indices = player.block
        case _:
            indices = []
    # What a player writes into its memory is not trusted: it may name matches of others.
    return [player.assigned[index] for index in indices if index in player.assigned]


def matches_begun(player: PlayerProcess, call: CurrentCall) -> list[MatchProgress]:
    """Return the matches of a player that have begun and not ended."""
    begun = {match.index for match in matches_in_call(player, call)} | player.begun
    return [m for m in player.assigned.values() if m.has_moved or m.index in begun]


def charge_matches(
    player: PlayerProcess, call: CurrentCall, seconds: float
) -> MatchProgress | None:
    """Add a call's seconds to its matches; return the one that has used the most, if any."""
    matches = matches_in_call(player, call)
    for match in matches:
        match.charge(_find_payer(match, call), seconds / len(matches))
    return max(matches, key=lambda match: sum(match.spent_s), default=None)


def _find_payer(match: MatchProgress, call: CurrentCall) -> int:
    """Return the seat that a call belongs to; the last place is the game's."""
    if call.phase is Phase.POLICY and call.seat < len(match.row.seats):
        return call.seat
    if call.phase is Phase.BLOCK and call.subject in match.row.seats:
        return match.row.seats.index(call.subject)
    return -1


class FaultAttribution:
    """Closes or suspects the matches of lost players, and lets the others wait."""

    def __init__(
        self,
        progress: OrderProgress,
        limits: Limits,
        close_match: Callable[[MatchProgress, EndedMatch], None],
    ) -> None:
        self._progress, self._limits, self._close_match = progress, limits, close_match

    def blame_death(self, player: PlayerProcess, call: CurrentCall) -> None:
        """Deal with the matches of a player that died by itself."""
        if call.phase is Phase.WAIT:
            # Nobody's code ran: no seat is to blame.
            for match in matches_begun(player, call):
                match.count_loss()
                if match.n_losses >= MAX_LOSSES:
                    self._fail_lost_match(player, match)
        else:
            accused = matches_in_call(player, call) or matches_begun(player, call)
            accused = accused or list(player.assigned.values())
            for match in accused:
                is_proven = len(accused) == 1 and match.is_suspect
                self._accuse_match(player, match, call, is_proven=is_proven)
        self._put_back(player)

    def blame_hang(self, player: PlayerProcess, call: CurrentCall) -> None:
        """Deal with the matches of a player that was killed because one call took too long."""
        accused = matches_in_call(player, call)
        for match in accused:
            if len(accused) > 1:
                self._suspect_match(player, match)
                continue
            is_policy = call.phase in (Phase.POLICY, Phase.BLOCK)
            seat = _find_payer(match, call) if is_policy else -1
            culprit = f"seat {seat}" if seat >= 0 else "the game"
            detail = f"{culprit} took over {self._limits.move_s:g} s for one step"
            self._close(player, match, failed_ending(match, Reason.TIMEOUT, detail, seat=seat))
        self._put_back(player)

    def blame_long_match(self, player: PlayerProcess, match: MatchProgress) -> None:
        """Deal with the matches of a player that was killed because one took too long in all."""
        if match.index in player.assigned:  # else it ended just before the kill
            payer = max(range(len(match.spent_s)), key=match.spent_s.__getitem__)
            seat = payer if payer < len(match.spent_s) - 1 else -1
            share = f"most of them seat {seat}'s" if seat >= 0 else "most of them the game's"
            detail = f"the match took over {self._limits.match_s:g} s, {share}"
            self._close(player, match, failed_ending(match, Reason.TIMEOUT, detail, seat=seat))
        self._put_back(player)

    def blame_stall(self, player: PlayerProcess, call: CurrentCall) -> None:
        """Deal with the matches of a player that was stopped or starved: no seat is to blame."""
        for match in matches_in_call(player, call):
            match.n_losses += 1
            if match.n_losses >= MAX_LOSSES:
                detail = f"its player stood still for {self._limits.match_s:g} s and was lost"
                self._close(player, match, failed_ending(match, Reason.TIMEOUT, detail))
        self._put_back(player)

    def blame_missing_answer(self, player: PlayerProcess, call: CurrentCall) -> None:
        """Deal with the matches of a player that was killed because it waited without an end."""
        detail = "its player waited without an end for what is computed elsewhere"
        for match in matches_begun(player, call):
            self._close(player, match, interrupted_ending(match, detail, reason=Reason.GPU_LOST))
        self._put_back(player)

    def blame_nobody(self, player: PlayerProcess) -> None:
        """Deal with the matches of a player whose call returned just before it was killed."""
        self._put_back(player)

    def _accuse_match(
        self, player: PlayerProcess, match: MatchProgress, call: CurrentCall, *, is_proven: bool
    ) -> None:
        how = player.fate
        if is_proven and call.phase is Phase.POLICY:
            seat, n_seats = call.seat, len(match.row.seats)
            detail = f"its player {how} twice while seat {seat} decided"
            if player.is_own_doing:
                ranks = forfeit_ranks(seat, n_seats)
                ending = EndedMatch(
                    match.index, Ending.FORFEIT, ranks, Reason.CRASH, seat, detail, 0
                )
            else:
                # As by a machine that is out of memory: proof only if another attempt ends so.
                ending = failed_ending(match, Reason.CRASH, detail, seat=seat)
            self._close(player, match, ending)
        elif is_proven and call.phase is Phase.GAME:
            detail = f"its player {how} twice in the game"
            self._close(player, match, failed_ending(match, Reason.ERROR, detail))
        elif match.n_losses + 1 >= MAX_LOSSES:
            self._fail_lost_match(player, match)
        else:
            self._suspect_match(player, match)

    def _fail_lost_match(self, player: PlayerProcess, match: MatchProgress) -> None:
        detail = f"its player was lost {MAX_LOSSES} times, the last one {player.fate}"
        self._close(player, match, failed_ending(match, Reason.ERROR, detail))

    def _suspect_match(self, player: PlayerProcess, match: MatchProgress) -> None:
        del player.assigned[match.index]
        self._progress.add_suspect(match)

    def _close(self, player: PlayerProcess, match: MatchProgress, ending: EndedMatch) -> None:
        del player.assigned[match.index]
        self._close_match(match, ending)

    def _put_back(self, player: PlayerProcess) -> None:
        """Let all others wait again, in the order in which the order names them."""
        self._progress.put_back([player.assigned[index] for index in sorted(player.assigned)])
        player.assigned.clear()
