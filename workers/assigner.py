"""Who plays what next: about a second of work each, suspects alone, the tail shared out."""

from collections.abc import Sequence

from workers.player_process import PlayerProcess
from workers.pool import PlayerPool
from workers.progress import MatchProgress, OrderProgress, PaceEstimate
from workers.wire import Assign, Release

# Work that a player has at a time. The rest waits in the parent: what a lost player had is to be
# assigned again.
SHARE_S = 1.0
# Also the matches in play of an order whose agents decide rows together, as far as there are.
MAX_SHARE = 256
# Less work than this is not worth moving to an idle player.
STEAL_S = 0.02


class Assigner:
    """Assigns the matches of one order to the players that are prepared for it."""

    def __init__(self, progress: OrderProgress, pool: PlayerPool, pace: PaceEstimate) -> None:
        self._progress, self._pool, self._pace = progress, pool, pace
        self._max_share = MAX_SHARE
        self.is_batched = False
        # How many players the order is for, those that still start included.
        self.n_players = 1

    def halve_shares(self) -> None:
        """Halve what a player has at a time: a block of this size takes an agent too long."""
        self._max_share = max(1, self._max_share // 2)

    def assign_matches(self) -> None:
        """Give every player that is short of work some more."""
        progress = self._progress
        for player in self._pool.players:
            if not player.is_prepared or player.is_alone or player.is_broken:
                continue
            n_assigned = len(player.assigned)
            if progress.suspects:
                # Players run out of other work meanwhile, so that the suspects do not wait for
                # the end of the order.
                if not n_assigned:
                    player.is_alone = True
                    self._assign_to(player, [progress.suspects.popleft()])
            elif progress.waiting:
                share = self._choose_share_size()
                if n_assigned <= share // 2:
                    self._assign_to(player, progress.take_waiting(share - n_assigned))
            elif not n_assigned:
                self._steal_work()

    def _choose_share_size(self) -> int:
        """Return how many matches a player has at a time; fewer towards the end of the order."""
        n_players = self.n_players
        if self.is_batched:
            # All in play at once: blocks are as large as they can be, and a player that is lost
            # costs little, as its matches go on from their actions.
            return max(1, min(-(-len(self._progress.open) // n_players), self._max_share))
        fair_share = -(-len(self._progress.waiting) // (2 * n_players))
        match_s = self._pace.match_s
        # Of unknown length: one match, which tells it.
        affordable = 1 if match_s is None else int(SHARE_S / max(match_s, 1e-6))
        return max(1, min(affordable, fair_share, self._max_share))

    def _assign_to(self, player: PlayerProcess, matches: Sequence[MatchProgress]) -> None:
        player.assigned.update({match.index: match for match in matches})
        player.n_kept = 0
        player.send_command(Assign([match.to_assignment() for match in matches]))

    def _steal_work(self) -> None:
        """Ask the player with the most matches for half of them."""
        players = self._pool.players
        donors = [player for player in players if len(player.assigned) > max(1, player.n_kept)]
        # One at a time: what it gives back is enough for several that are idle.
        if not donors or any(player.is_releasing for player in donors):
            return
        donor = max(donors, key=lambda player: len(player.assigned))
        if len(donor.assigned) * (self._pace.match_s or STEAL_S) >= STEAL_S:
            donor.is_releasing = True
            # A match whose trajectory is kept would have to start again elsewhere.
            is_begun_too = self.is_batched and not self._progress.starts_again
            donor.send_command(Release(len(donor.assigned) // 2, is_begun_too=is_begun_too))
