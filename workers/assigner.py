"""Who plays what next: hands of about a second of work, suspects alone, the tail shared out."""

from collections.abc import Sequence

from workers.pool import Crew, Player
from workers.progress import Entry, Ledger, Pace
from workers.wire import Deal, Release

HAND_S = 1.0
"""Work that a player has in hand; more waits with the parent."""
MAX_HAND = 256
"""Also the matches in play of an order whose agents decide rows together, as far as there are."""
STEAL_S = 0.02
"""Less work than this is not worth moving to an idle player."""


class Dealer:
    """Deals the matches of one order to the players that are prepared for it."""

    def __init__(self, ledger: Ledger, crew: Crew, pace: Pace) -> None:
        self._ledger, self._crew, self._pace = ledger, crew, pace
        self._max_hand = MAX_HAND
        self.is_batched = False

    def shrink(self) -> None:
        """Halve the hands: a block of this size takes an agent too long."""
        self._max_hand = max(1, self._max_hand // 2)

    def deal(self) -> None:
        """Give every player that is short of work some more."""
        for player in self._crew.players:
            if player.is_prepared and not player.is_alone and not player.is_broken:
                self._deal_to(player)

    def _deal_to(self, player: Player) -> None:
        ledger, hand = self._ledger, player.hand
        if ledger.suspects:
            # Hands run empty meanwhile, so that the suspects do not wait for the end of the order.
            if not hand:
                player.is_alone = True
                self._give(player, [ledger.suspects.popleft()])
        elif ledger.waiting:
            wanted = self._portion()
            if len(hand) <= wanted // 2:
                self._give(player, ledger.take(wanted - len(hand)))
        elif not hand:
            self._steal()

    def _portion(self) -> int:
        """Return how many matches a hand holds now; smaller towards the end of the order."""
        n_players = len(self._crew.players)
        if self.is_batched:
            # All in play at once: blocks are as large as they can be, and a player that is lost
            # costs little, as its matches go on from their actions.
            return max(1, min(-(-len(self._ledger.open) // n_players), self._max_hand))
        share = -(-len(self._ledger.waiting) // (2 * n_players))
        match_s = self._pace.match_s
        wanted = 1 if match_s is None else int(HAND_S / max(match_s, 1e-6))
        return max(1, min(wanted, share, self._max_hand))

    def _give(self, player: Player, entries: Sequence[Entry]) -> None:
        player.hand.update({entry.index: entry for entry in entries})
        player.n_kept = 0
        player.send(Deal([entry.item() for entry in entries]))

    def _steal(self) -> None:
        """Ask the player with the fullest hand for half of it."""
        players = self._crew.players
        victims = [player for player in players if len(player.hand) > max(1, player.n_kept)]
        if not victims or any(player.is_releasing for player in victims):
            return
        victim = max(victims, key=lambda player: len(player.hand))
        if len(victim.hand) * (self._pace.match_s or STEAL_S) >= STEAL_S:
            victim.is_releasing = True
            is_begun_too = self.is_batched and not self._ledger.is_recorded
            victim.send(Release(len(victim.hand) // 2, is_begun_too=is_begun_too))
