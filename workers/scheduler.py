"""Play one order with a crew of players: deal, listen, watch, report."""

import logging
from collections.abc import Callable, Iterator

from arena.messages import MatchOrder, Reason
from workers import blame
from workers.assigner import Dealer
from workers.current_call import Phase, Sighting
from workers.pool import Crew, Player
from workers.progress import (
    Entry,
    Ledger,
    Pace,
    check,
    failed,
    interrupted,
    is_unproven_crash,
)
from workers.reports import OrderReports
from workers.stop_signals import Stop
from workers.watchdog import Ticker
from workers.wire import (
    Begun,
    EndedRow,
    Message,
    News,
    Prepare,
    Prepared,
    Ready,
    Refused,
    Release,
    Released,
    Ring,
)

log = logging.getLogger(__name__)

TICK_S = 0.05
MAX_SETUP_LOSSES = 3
STILL_S = 60.0
"""A player that is to start, set up or go on, and does nothing for so long, is lost."""
CRIPPLED_S = 60.0
"""A node that could not start a player for so long gives its order back."""


class Conductor:
    """Plays one order to its end, or until the node has to stop."""

    def __init__(
        self,
        order: MatchOrder,
        crew: Crew,
        reports: OrderReports,
        pace: Pace,
        *,
        stop: Callable[[], Stop],
        notice_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._order, self._crew, self._reports, self._pace = order, crew, reports, pace
        self._stop, self._notice_s, self._clock = stop, notice_s, clock
        self._ledger = Ledger(order)
        self._dealer = Dealer(self._ledger, crew, pace)
        self._inquest = blame.Inquest(self._ledger, order.limits, self._end)
        self._ticker = Ticker(TICK_S, now=clock())
        self._able_at = clock()
        self._n_setup_losses = 0

    def run(self) -> None:
        """Play; every match that ended or was executing is reported."""
        self._reports.started()
        self._prepare_all()
        while self._ledger.is_open and not self._stop() and not self._is_crippled():
            self._crew.fill()
            self._dealer.deal()
            self._turn()
        if self._ledger.is_open:
            self._wind_up()
        self._crew.end_strays(with_children=True)
        self._reports.close()

    def _turn(self) -> None:
        """Hear what the players say, then look after them and the reports."""
        for player in self._crew.wait(TICK_S):
            player.still_s = 0.0
            for message in player.receive():
                self._hear(player, message)
        for player in self._living():
            if player.is_broken:
                self._bury(player)
        now = self._clock()
        if self._ticker.is_due(now):
            counted_s = self._ticker.tick(now)
            for player in self._living():
                self._watch(player, counted_s)
        if self._reports.is_due(now):
            self._reports.flush(self._executing(), now=now)
        self._crew.sweep()

    def _is_crippled(self) -> bool:
        """Return True when this node has been unable to start a player for long."""
        now = self._clock()
        if not self._crew.is_failing:
            self._able_at = now
        if now - self._able_at < CRIPPLED_S:
            return False
        log.error("no player starts for %g s: order %s goes back", CRIPPLED_S, self._order.order)
        return True

    # What players hear and say

    def _prepare_all(self) -> None:
        self._crew.n_orders += 1
        for player in self._crew.players:
            player.is_prepared = False
            player.begun.clear()
            if player.is_ready:
                self._prepare(player)

    def _prepare(self, player: Player) -> None:
        order = self._order
        prepare = Prepare(
            serial=self._crew.n_orders,
            game=order.game,
            rules_version=order.rules_version,
            game_parameters=order.game_parameters,
            opening_plies=order.opening_plies,
            agents=order.agents,
            faults=order.faults,
            trajectories=order.trajectories,
            game_version=order.game_version,
        )
        player.send(prepare)

    def _hear(self, player: Player, message: Message) -> None:
        if player.is_broken:
            return
        match message:
            case News():
                self._hear_news(player, message)
            case Begun(indices):
                player.begun.update(player.hand.keys() & indices)
            case Ring(shard, lease):
                self._crew.ring(player, shard, lease)
            case Released(indices):
                self._take_back(player, indices)
            case _:
                self._hear_start(player, message)

    def _take_back(self, player: Player, indices: list[int]) -> None:
        player.is_releasing = False
        player.n_kept = len(player.hand) if not indices else 0
        player.begun.difference_update(indices)
        given = [player.hand.pop(index) for index in indices if index in player.hand]
        self._ledger.put_back(given)

    def _hear_start(self, player: Player, message: Ready | Prepared | Refused) -> None:
        serial = self._crew.n_orders
        match message:
            case Ready():
                self._crew.welcome(player)
                self._prepare(player)
            case Prepared(of, is_batched) if of == serial:
                player.is_prepared = True
                self._dealer.is_batched = is_batched
            case Refused(of, detail) if of == serial:
                log.error("order %s cannot be played: %s", self._order.order, detail)
                self._fail_all(detail)

    def _hear_news(self, player: Player, news: News) -> None:
        hand = player.hand
        try:
            acted = iter(news.acted)
            for index, action in zip(acted, acted, strict=True):
                hand[index].actions.append(action)
            ended = [(hand[row.index], row) for row in news.ended]
            for entry, row in ended:
                check(entry, row)
        except (KeyError, ValueError):
            log.warning("player %d speaks of matches that it does not have", player.pid)
            player.is_broken = True
            return
        if player.is_alone:
            self._clear(player)
        for entry, row in ended:
            del hand[row.index]
            self._end(entry, row)
        self._pace.add(news.ended)
        if any(is_unproven_crash(row) for row in news.ended) and player in self._crew.players:
            # Out of memory: what is kept in it would fail others, who are not to blame.
            self._kill(player)
            self._inquest.spared(player)

    def _clear(self, player: Player) -> None:
        """Let a suspect that has moved be played like any other."""
        player.is_alone = False
        for entry in player.hand.values():
            entry.is_struck = False

    # What becomes of players and matches

    def _watch(self, player: Player, counted_s: float) -> None:
        """Kill a player whose call or match is over a limit, or that does nothing."""
        sighting = player.sighting()
        if sighting.phase is Phase.IDLE:
            self._watch_still(player, counted_s)
            return
        player.still_s = 0.0
        usage = player.usage()
        if usage is not None:
            charged_s = player.watch.observe(sighting, usage, counted_s)
            if sighting.phase is Phase.WAIT:
                self._watch_waiting(player, sighting)
            else:
                self._watch_call(player, sighting, charged_s)

    def _watch_still(self, player: Player, counted_s: float) -> None:
        """Kill a player that shows no call and says nothing though it has something to do."""
        is_due = bool(player.hand) or not player.is_prepared
        player.still_s = player.still_s + counted_s if is_due else 0.0
        if player.still_s > STILL_S:
            log.error("player %d did nothing for %g s", player.pid, STILL_S)
            is_setting_up = player.is_ready and not player.is_prepared
            self._bury(player, is_setting_up=is_setting_up)

    def _watch_waiting(self, player: Player, sighting: Sighting) -> None:
        """Kill a player that waits for longer than any answer may take."""
        if player.watch.wall_s <= self._crew.wait_s:
            return
        if self._kill(player) == sighting:
            self._inquest.unanswered(player, sighting)
        else:
            self._inquest.spared(player)

    def _watch_call(self, player: Player, sighting: Sighting, charged_s: float) -> None:
        limits, watch = self._order.limits, player.watch
        dearest = blame.charge(player, sighting, charged_s)
        is_held = watch.wall_s > limits.match_s
        if sighting.phase is Phase.SETUP:
            if is_held or watch.call_s > limits.match_s:
                self._bury(player)
        elif watch.call_s > limits.move_s:
            self._kill_hung(player, sighting)
        elif dearest is not None and sum(dearest.spent_s) > limits.match_s:
            self._kill(player)
            self._inquest.overran(player, dearest)
        elif is_held:
            self._inquest.held(player, self._kill(player))

    def _kill_hung(self, player: Player, sighting: Sighting) -> None:
        if sighting.phase is Phase.BLOCK:
            self._dealer.shrink()
        if self._kill(player) == sighting:
            self._inquest.hung(player, sighting)
        else:
            self._inquest.spared(player)

    def _bury(self, player: Player, *, is_setting_up: bool = False) -> None:
        """Deal with a player that died, or that must because it talks nonsense or nothing."""
        sighting = self._kill(player)
        self._inquest.died(player, sighting)
        if is_setting_up or sighting.phase is Phase.SETUP:
            self._n_setup_losses += 1
            if self._n_setup_losses >= MAX_SETUP_LOSSES:
                self._fail_all(f"{MAX_SETUP_LOSSES} players {player.fate} while they set it up")

    def _kill(self, player: Player) -> Sighting:
        """End a player, hear its last words, and return what it was executing."""
        self._crew.dismiss(player)
        for message in player.last_words():
            self._hear(player, message)
        sighting = player.sighting()
        player.close()
        return sighting

    def _fail_all(self, detail: str) -> None:
        """Close every match that is open; players that still play some are not needed any more."""
        for player in self._living():
            if player.hand:
                self._kill(player)
        for entry in list(self._ledger.open.values()):
            self._end(entry, failed(entry, Reason.ERROR, detail))
        self._ledger.forget()

    def _wind_up(self) -> None:
        """Begin nothing new, wait a little for what is in play, give back the rest."""
        n_open = len(self._ledger.open)
        log.warning("order %s stops with %d matches to play", self._order.order, n_open)
        until = self._clock() + self._notice_s
        for player in self._crew.players:
            if player.hand:
                player.send(Release(len(player.hand), is_begun_too=False))
        while self._is_playing() and self._stop() < Stop.NOW and self._clock() < until:
            self._turn()
        for player in self._living():
            if player.hand:
                self._interrupt(player)

    def _interrupt(self, player: Player) -> None:
        sighting = self._kill(player)
        for entry in blame.begun(player, sighting):
            self._end(entry, interrupted(entry, "its node had to stop"))

    def _living(self) -> Iterator[Player]:
        """Yield the players, without those that are lost meanwhile."""
        for player in list(self._crew.players):
            if player in self._crew.players:
                yield player

    def _is_playing(self) -> bool:
        return any(player.hand for player in self._crew.players)

    def _executing(self) -> list[int]:
        return [
            entry.row.match
            for player in self._crew.players
            for entry in blame.begun(player, player.sighting())
        ]

    def _end(self, entry: Entry, ended: EndedRow) -> None:
        self._reports.add(self._ledger.end(entry, ended))
