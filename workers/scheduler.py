"""Play one order with a pool of players: assign matches, read messages, watch limits, report."""

import logging
from collections.abc import Callable, Iterator, Sequence

from arena.messages import BegunRow, MatchOrder, Reason
from workers import blame
from workers.assigner import Assigner
from workers.current_call import CurrentCall, Phase
from workers.player_process import PlayerProcess
from workers.pool import PlayerPool
from workers.progress import (
    MatchProgress,
    OrderProgress,
    PaceEstimate,
    check_ending,
    failed_ending,
    interrupted_ending,
    is_unproven_crash,
)
from workers.reports import OrderReports
from workers.stop_signals import Stop
from workers.watchdog import Ticker
from workers.wire import (
    Begun,
    EndedMatch,
    Message,
    Prepare,
    Prepared,
    Progress,
    Ready,
    Refused,
    Release,
    Released,
    Ring,
)

log = logging.getLogger(__name__)

TICK_S = 0.05
MAX_SETUP_LOSSES = 3
# A player that is to start, set up or go on, and does nothing for so long, is lost.
STILL_S = 60.0
# A node that could not start a player for so long gives its order back.
CRIPPLED_S = 60.0


class Scheduler:
    """Plays one order to its end, or until the node has to stop."""

    def __init__(
        self,
        order: MatchOrder,
        pool: PlayerPool,
        reports: OrderReports,
        pace: PaceEstimate,
        *,
        stop: Callable[[], Stop],
        notice_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._order, self._pool, self._reports, self._pace = order, pool, reports, pace
        self._stop, self._notice_s, self._clock = stop, notice_s, clock
        self._progress = OrderProgress(order)
        self._assigner = Assigner(self._progress, pool, pace)
        self._attribution = blame.FaultAttribution(self._progress, order.limits, self._close_match)
        self._ticker = Ticker(TICK_S, now=clock())
        self._able_at = clock()
        self._n_setup_losses = 0
        # Of the child that each player starts; unknown until one has prepared the order.
        self._game_command: list[str] | None = None

    def play_order(self) -> None:
        """Play; every match that ended or was executing is reported."""
        self._reports.report_start()
        self._pool.n_orders += 1
        # Asked first, as the child of a game that they have started may play on.
        self._pool.players.sort(key=lambda player: not player.is_asked)
        for player in self._pool.players:
            player.is_asked = player.is_prepared = False
            player.begun.clear()
        while self._progress.is_open and not self._stop() and not self._cannot_start_players():
            self._pool.start_missing_players()
            self._prepare_players()
            self._assigner.assign_matches()
            self._take_turn()
        if self._progress.is_open:
            self._give_back_rest()
        self._pool.end_orphans(with_children=True, spared=self._game_command or ())
        self._reports.report_end()

    def _take_turn(self) -> None:
        """Read what the players say, then look after them and the reports."""
        for player in self._pool.wait_for_messages(TICK_S):
            player.still_s = 0.0
            for message in player.receive_messages():
                self._apply_message(player, message)
        for player in self._list_living_players():
            if player.is_broken:
                self._lose_player(player)
        now = self._clock()
        if self._ticker.is_due(now):
            counted_s = self._ticker.count_seconds(now)
            for player in self._list_living_players():
                self._watch_player(player, counted_s)
        if self._reports.is_due(now):
            begun = [
                match
                for player in self._pool.players
                for match in blame.matches_begun(player, player.read_call())
            ]
            executing = [match.row.match for match in begun]
            self._reports.flush(executing, now=now, begun=self._report_actions(begun, now))
        self._pool.sweep_orphans()

    def _report_actions(self, begun: Sequence[MatchProgress], now: float) -> list[BegunRow]:
        """Return the actions so far of long matches that could go on elsewhere."""
        # What faults are emulated in depends on the attempt: it is played whole.
        if self._progress.starts_again or self._order.faults is not None:
            return []
        rows = (match.report_actions(now, self._reports.actions_s) for match in begun)
        return [row for row in rows if row is not None]

    def _cannot_start_players(self) -> bool:
        """Return True when this node has been unable to start a player for long."""
        now = self._clock()
        if not self._pool.is_failing:
            self._able_at = now
        if now - self._able_at < CRIPPLED_S:
            return False
        log.error("no player starts for %g s: order %s goes back", CRIPPLED_S, self._order.order)
        return True

    # What players are told and say

    def _prepare_players(self) -> None:
        """Ask players to prepare: all, or one per core where each starts a child for the game.

        A simulator computes while its player waits; each more would only have to warm up too.
        """
        players = self._pool.players
        n_wanted = len(players) if self._game_command == [] else self._pool.n_cores
        self._assigner.n_players = min(n_wanted, len(players))
        n_missing = n_wanted - sum(player.is_asked for player in players)
        idle = [player for player in players if player.is_ready and not player.is_asked]
        for player in idle[: max(0, n_missing)]:
            self._send_preparation(player)

    def _send_preparation(self, player: PlayerProcess) -> None:
        order = self._order
        player.is_asked = True
        prepare = Prepare(
            serial=self._pool.n_orders,
            game=order.game,
            rules_version=order.rules_version,
            game_parameters=order.game_parameters,
            opening_plies=order.opening_plies,
            agents=order.agents,
            faults=order.faults,
            trajectories=order.trajectories,
            game_version=order.game_version,
            servers=order.servers,
        )
        player.send_command(prepare)

    def _apply_message(self, player: PlayerProcess, message: Message) -> None:
        if player.is_broken:
            return
        # An answer to the preparation of an earlier order may still arrive: its serial tells it.
        serial = self._pool.n_orders
        match message:
            case Progress():
                self._take_progress(player, message)
            case Begun(indices):
                player.begun.update(player.assigned.keys() & indices)
            case Ring(shard, lease):
                self._pool.pass_doorbell_on(player, shard, lease)
            case Released(indices):
                player.is_releasing = False
                player.n_kept = len(player.assigned) if not indices else 0
                player.begun.difference_update(indices)
                released = [player.assigned.pop(i) for i in indices if i in player.assigned]
                self._progress.put_back(released)
            case Ready():
                self._pool.note_ready(player)
            case Prepared(of, is_batched, game_command) if of == serial:
                self._game_command = game_command
                player.is_prepared = True
                self._assigner.is_batched = is_batched
            case Refused(of, detail) if of == serial:
                log.error("order %s cannot be played: %s", self._order.order, detail)
                self._fail_open_matches(detail)

    def _take_progress(self, player: PlayerProcess, progress: Progress) -> None:
        assigned = player.assigned
        try:
            acted = iter(progress.acted)
            for index, action, note in zip(acted, acted, acted, strict=True):
                match = assigned[index]
                match.actions.append(action)
                match.notes.append(note)
            endings = [(assigned[ending.index], ending) for ending in progress.ended]
            # All are checked before any is closed: half a message must not count.
            for match, ending in endings:
                check_ending(match, ending)
        except (KeyError, ValueError):
            log.warning("player %d speaks of matches that it does not have", player.pid)
            player.is_broken = True
            return
        if player.is_alone:
            # A suspect that has moved is played like any other.
            player.is_alone = False
            for match in assigned.values():
                match.is_suspect = False
        for match, ending in endings:
            del assigned[ending.index]
            self._close_match(match, ending)
        self._pace.learn(progress.ended)
        if any(is_unproven_crash(row) for row in progress.ended) and player in self._pool.players:
            # Out of memory: what is kept in it would fail others, who are not to blame.
            self._kill_player(player)
            self._attribution.blame_nobody(player)

    # What becomes of players and matches

    def _watch_player(self, player: PlayerProcess, counted_s: float) -> None:
        """Kill a player whose call or match is over a limit, or that does nothing."""
        call = player.read_call()
        if call.phase is Phase.IDLE:
            is_setting_up = player.is_asked and not player.is_prepared
            is_due = bool(player.assigned) or not player.is_ready or is_setting_up
            player.still_s = player.still_s + counted_s if is_due else 0.0
            if player.still_s > STILL_S:
                log.error("player %d did nothing for %g s", player.pid, STILL_S)
                self._lose_player(player, is_setting_up=is_setting_up)
            return
        player.still_s = 0.0
        usage = player.read_usage()
        if usage is None:  # it is gone: its closed channel will say so
            return
        charged_s = player.timer.add_tick(call, usage, counted_s)
        if call.phase is not Phase.WAIT:
            self._enforce_limits(player, call, charged_s)
        elif player.timer.wall_s > self._pool.wait_s:  # longer than any answer may take
            if self._kill_player(player) == call:
                self._attribution.blame_missing_answer(player, call)
            else:
                self._attribution.blame_nobody(player)

    def _enforce_limits(self, player: PlayerProcess, call: CurrentCall, charged_s: float) -> None:
        limits, timer = self._order.limits, player.timer
        dearest = blame.charge_matches(player, call, charged_s)
        is_held = timer.wall_s > limits.match_s
        if call.phase is Phase.SETUP:
            if is_held or timer.call_s > limits.match_s:
                self._lose_player(player)
        elif timer.call_s > limits.move_s:
            if call.phase is Phase.BLOCK:
                self._assigner.halve_shares()
            # The call may have returned between the look and the kill: then nobody hung.
            if self._kill_player(player) == call:
                self._attribution.blame_hang(player, call)
            else:
                self._attribution.blame_nobody(player)
        elif dearest is not None and sum(dearest.spent_s) > limits.match_s:
            self._kill_player(player)
            self._attribution.blame_long_match(player, dearest)
        elif is_held:
            self._attribution.blame_stall(player, self._kill_player(player))

    def _lose_player(self, player: PlayerProcess, *, is_setting_up: bool = False) -> None:
        """Deal with a player that died, or that must because it talks nonsense or nothing."""
        call = self._kill_player(player)
        self._attribution.blame_death(player, call)
        if is_setting_up or call.phase is Phase.SETUP:
            self._n_setup_losses += 1
            if self._n_setup_losses >= MAX_SETUP_LOSSES:
                self._fail_open_matches(
                    f"{MAX_SETUP_LOSSES} players {player.fate} while they set it up"
                )

    def _kill_player(self, player: PlayerProcess) -> CurrentCall:
        """End a player, read its last messages, and return what it was executing."""
        self._pool.dismiss_player(player)
        # What it had sent before it died counts: a match that ended there is not lost.
        for message in player.drain_messages():
            self._apply_message(player, message)
        call = player.read_call()
        player.close()
        return call

    def _fail_open_matches(self, detail: str) -> None:
        """Close every match that is open; players that still play some are not needed any more."""
        for player in self._list_living_players():
            if player.assigned:
                self._kill_player(player)
        for match in list(self._progress.open.values()):
            self._close_match(match, failed_ending(match, Reason.ERROR, detail))
        self._progress.forget_waiting()

    def _give_back_rest(self) -> None:
        """Begin nothing new, wait a little for what is in play, give back the rest."""
        n_open = len(self._progress.open)
        log.warning("order %s stops with %d matches to play", self._order.order, n_open)
        until, players = self._clock() + self._notice_s, self._pool.players
        for player in players:
            if player.assigned:
                player.send_command(Release(len(player.assigned), is_begun_too=False))
        while any(player.assigned for player in players):
            if self._stop() is Stop.NOW or self._clock() >= until:
                break
            self._take_turn()
        for player in self._list_living_players():
            if player.assigned:
                call = self._kill_player(player)
                for match in blame.matches_begun(player, call):
                    self._close_match(match, interrupted_ending(match, "its node had to stop"))

    def _list_living_players(self) -> Iterator[PlayerProcess]:
        """Yield the players, without those that are lost meanwhile."""
        for player in list(self._pool.players):
            if player in self._pool.players:
                yield player

    def _close_match(self, match: MatchProgress, ending: EndedMatch) -> None:
        self._reports.add_result(self._progress.close_match(match, ending))
