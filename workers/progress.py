"""Where the matches of one order stand: waiting, suspected, with a player, or ended."""

from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Sequence

from arena.messages import BegunRow, Detail, Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from arena.move_notes import pack_notes
from workers.wire import Assignment, EndedMatch

MAX_ACTIONS_TEXT = 100_000

# What a player may miss; whether its node stops is for the parent to say.
_LOST = (
    Reason.GPU_LOST,
    Reason.PROGRAM_LOST,
    Reason.SERVER_LOST,
    Reason.SITE_LOST,
    Reason.UNFIT,
)


class MatchProgress:
    """One match of an order as its parent knows it."""

    __slots__ = (
        "actions",
        "index",
        "is_suspect",
        "kept_s",
        "lost_at",
        "n_carried",
        "n_charged",
        "n_losses",
        "n_reported",
        "notes",
        "reported_at",
        "row",
        "server",
        "spent_s",
    )

    def __init__(self, index: int, row: MatchOrderRow, actions: Sequence[int] = ()) -> None:
        self.index, self.row = index, row
        # Which of the order's game servers plays it, if any do.
        self.server = 0
        self.actions = list(actions)
        # How long those moves took is not carried along.
        self.notes = [0] * len(actions)
        # When its actions were looked at last, and how many control has of them.
        self.reported_at: float | None = None
        self.n_carried = self.n_reported = len(actions)
        # Per seat, and last the game: what its calls have used, for the limit per match.
        self.spent_s = [0.0] * (len(row.seats) + 1)
        # Of that, what its actions of then took; and how many it had when it was charged last.
        self.kept_s, self.n_charged = 0.0, len(actions)
        self.n_losses = 0
        self.lost_at = -1
        self.is_suspect = False

    @property
    def has_moved(self) -> bool:
        """True when it was played on in this order."""
        return len(self.actions) > self.n_carried

    def count_loss(self) -> None:
        """Count a loss that nobody is to blame for; one that has moved since the last is new."""
        has_moved = len(self.actions) > self.lost_at
        self.n_losses = 1 if has_moved else self.n_losses + 1
        self.lost_at = len(self.actions)

    def charge(self, payer: int, seconds: float) -> None:
        """Add what a call has used to a seat, or to the game; what has moved since is kept."""
        if len(self.actions) > self.n_charged:
            self.kept_s, self.n_charged = sum(self.spent_s), len(self.actions)
        self.spent_s[payer] += seconds

    def compute_lost_ms(self, share_ms: float) -> float:
        """Return how much of an interrupted attempt is lost beyond its kept actions."""
        has_just_moved = len(self.actions) > self.n_charged
        kept_s = sum(self.spent_s) if has_just_moved else self.kept_s
        return max(0.0, share_ms - 1000 * kept_s)

    def to_assignment(self) -> Assignment:
        """Return what a player needs to play or resume the match."""
        row = self.row
        return Assignment(
            *(self.index, row.attempt, row.game_seed, row.seats, self.actions, row.match),
            server=self.server,
        )

    def report_actions(self, now: float, every_s: float) -> BegunRow | None:
        """Return how far it has come, if it has moved and was not looked at for so long."""
        if self.reported_at is None:  # most matches are over before they are looked at again
            self.reported_at = now
        if now - self.reported_at < every_s or len(self.actions) <= self.n_reported:
            return None
        self.reported_at, self.n_reported = now, len(self.actions)
        text = " ".join(map(str, self.actions))
        row = self.row
        is_kept = len(text) <= MAX_ACTIONS_TEXT
        return BegunRow(row.match, row.attempt, row.token, text) if is_kept else None

    def to_result(
        self, ended: EndedMatch, *, server: str = "", starts_again: bool = False
    ) -> ResultRow:
        """Return the row to report.

        server: the game server that played it. starts_again: its actions are of no further use.
        """
        text = " ".join(map(str, self.actions))
        is_kept = len(text) <= MAX_ACTIONS_TEXT
        return ResultRow(
            match=self.row.match,
            attempt=self.row.attempt,
            token=self.row.token,
            ending=ended.ending,
            ranks=ended.ranks,
            reason=ended.reason,
            seat=ended.seat,
            detail=ended.detail,
            n_steps=len(self.actions),
            duration_ms=round(ended.share_ms, 3),
            # Those that do not fit the game are not worth another try.
            actions=text if is_kept and ended.reason is not Reason.UNFIT else "",
            trajectory=ended.trajectory,
            notes=b64encode(pack_notes(self.notes)).decode() if is_kept else "",
            returns=ended.returns,
            server=server,
            lost_ms=self._sum_lost_ms(ended, starts_again=starts_again or not is_kept),
        )

    def _sum_lost_ms(self, ended: EndedMatch, *, starts_again: bool) -> float:
        if ended.ending is not Ending.INTERRUPTED:
            return 0.0
        lost_ms = ended.share_ms if starts_again else self.compute_lost_ms(ended.share_ms)
        return round(lost_ms, 3)


class PaceEstimate:
    """How long a match of an order takes, in seconds, as far as known."""

    def __init__(self, known_s: float | None = None) -> None:
        """Start from what an earlier order of the same kind took."""
        self.match_s = known_s
        self._n, self._sum_s = 0, 0.0

    def learn(self, ended: Iterable[EndedMatch]) -> None:
        """Learn from matches that ended; the first of them replace what was known before."""
        for row in ended:
            if row.ending is not Ending.INTERRUPTED:  # it may have waited for long
                self._n += 1
                self._sum_s += row.share_ms / 1000
        if self._n:
            self.match_s = self._sum_s / self._n


class OrderProgress:
    """The matches of one order that have not ended, in the order in which they are assigned."""

    def __init__(self, order: MatchOrder) -> None:
        self.order = order
        # A match that changes its player starts again: trajectories are told whole, and some games
        # cannot be gone on with from their actions.
        self.starts_again = bool(order.trajectories) or not order.is_replayable
        played = {} if self.starts_again else dict(enumerate(order.actions))
        self.open = {
            index: MatchProgress(
                index, row, [int(action) for action in played.get(index, "").split()]
            )
            for index, row in enumerate(order.matches)
        }
        for match, server in zip(self.open.values(), order.served_by, strict=False):
            match.server = server
        self.waiting: deque[MatchProgress] = deque(self.open.values())
        # Each was executing when its player was lost: it goes on alone until it has moved.
        self.suspects: deque[MatchProgress] = deque()

    @property
    def is_open(self) -> bool:
        """True while a match has not ended."""
        return bool(self.open)

    def take_waiting(self, n: int) -> list[MatchProgress]:
        """Return up to n of the waiting matches."""
        waiting = self.waiting
        return [waiting.popleft() for _ in range(min(n, len(waiting)))]

    def put_back(self, matches: Sequence[MatchProgress]) -> None:
        """Let matches wait again, before all others."""
        self._forget_actions(matches)
        self.waiting.extendleft(reversed(matches))

    def add_suspect(self, match: MatchProgress) -> None:
        """Let a match that may have cost a player go on alone."""
        self._forget_actions([match])
        match.n_losses += 1
        match.is_suspect = True
        self.suspects.append(match)

    def _forget_actions(self, matches: Sequence[MatchProgress]) -> None:
        if self.starts_again:
            for match in matches:
                match.actions, match.notes = [], []

    def forget_waiting(self) -> None:
        """Let nothing wait any more."""
        self.waiting.clear()
        self.suspects.clear()

    def close_match(self, match: MatchProgress, ended: EndedMatch) -> ResultRow:
        """Close a match; return the row to report."""
        del self.open[match.index]
        servers = self.order.servers
        return match.to_result(
            ended,
            server=servers[match.server].name if servers else "",
            starts_again=self.starts_again or self.order.faults is not None,
        )


def check_ending(match: MatchProgress, ended: EndedMatch) -> None:
    """Raise ValueError unless the ending is one that a player may say of this match."""
    n_seats = len(match.row.seats)
    match ended.ending:
        case Ending.DONE:
            is_sound = len(ended.ranks) == n_seats and ended.seat == -1
        case Ending.FORFEIT:
            is_sound = len(ended.ranks) == n_seats and 0 <= ended.seat < n_seats
        case Ending.FAILED:
            is_named = is_unproven_crash(ended) and ended.seat < n_seats
            is_sound = not ended.ranks and (is_named or ended.seat == -1)
        case Ending.INTERRUPTED:
            is_sound = not ended.ranks and ended.seat == -1 and ended.reason in _LOST
    if not is_sound:
        raise ValueError(f"no ending of a match of {n_seats} seats: {ended}")


def is_unproven_crash(ended: EndedMatch) -> bool:
    """Return True for a crash that is charged to its seat only if another attempt repeats it."""
    return ended.ending is Ending.FAILED and ended.reason is Reason.CRASH and ended.seat >= 0


def failed_ending(
    match: MatchProgress, reason: Reason, detail: Detail, *, seat: int = -1
) -> EndedMatch:
    """Return the ending of an attempt that is no outcome: control tries again."""
    return EndedMatch(
        match.index, Ending.FAILED, [], reason, seat, detail, share_ms=_sum_spent_ms(match)
    )


def interrupted_ending(
    match: MatchProgress, detail: Detail, *, reason: Reason = Reason.RETURNED
) -> EndedMatch:
    """Return the ending of a match that was executing when its node had to stop."""
    return EndedMatch(match.index, Ending.INTERRUPTED, [], reason, -1, detail, _sum_spent_ms(match))


def _sum_spent_ms(match: MatchProgress) -> float:
    return 1000 * sum(match.spent_s)
