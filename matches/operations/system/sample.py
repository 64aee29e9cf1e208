"""The form of a sample: what one look at the whole system found, in numbers."""

from datetime import datetime

import msgspec

from arena.messages import Serving


class Node(msgspec.Struct, frozen=True):
    """A play node, gpu worker or game server as it described itself last, and its work."""

    pk: int
    name: str
    kind: str
    """play, gpu or server."""
    is_spot: bool
    is_alive: bool
    slots: int
    capabilities: list[str]
    n_orders: int
    n_matches: int
    """Of a game server: its slots that are taken."""
    n_queued: int
    """Orders that wait for it."""
    seen_at: datetime
    versions: dict[str, str]
    quarantine: str = ""
    """Why it is in quarantine; empty: it is not."""
    warnings: list[str] = []
    """What is wrong with who reports in its name."""
    labels: dict[str, str] = {}
    """What its operator says of the machine: class, price, zone ..."""
    load: dict[str, float] = {}
    """Of its machine: cpu, processes per core; memory, the share in use."""
    game: str = ""
    """What it plays, of a game server."""
    address: str = ""
    problem: str = ""
    """Why a game server that is alive is sent nothing."""

    @property
    def is_free(self) -> bool:
        """True when it may take work."""
        return self.is_alive and not self.quarantine


class Queue(msgspec.Struct, frozen=True):
    """A queue of the broker, or those of all play nodes: messages, age of the oldest, takers."""

    name: str
    length: int | None
    oldest_s: float | None
    n_takers: int | None


class Failure(msgspec.Struct, frozen=True):
    """How many attempts of the last hour ended so."""

    ending: str
    reason: str
    n: int


class Failures(msgspec.Struct, frozen=True):
    """The attempts of the last hour that brought no regular outcome."""

    read_at: datetime
    rows: list[Failure]
    is_cut: bool
    """True: there were more than were read."""


class Counts(msgspec.Struct, frozen=True):
    """How many nodes there are in all; only some are listed."""

    n_play: int
    n_gpu: int
    n_slots: int
    n_lost: int
    n_desired: int = 0
    """Play nodes that would play what waits in time."""
    backlog_s: float = 0.0
    """Slot-seconds that wait."""
    n_servers: int = 0
    """Game servers that may be sent matches, and their slots."""
    n_server_slots: int = 0
    n_server_slots_taken: int = 0


class Delays(msgspec.Struct, frozen=True):
    """How far behind the parts are, in seconds; None where it is not known or nothing waits."""

    recorder_s: float | None
    rating_s: float | None
    start_p50_s: float | None
    """From publishing an order to its start, of the newest orders."""
    start_p99_s: float | None
    recorder: str = "recorder"
    """The one that is the furthest behind."""


class AttemptTally(msgspec.Struct, frozen=True):
    """Attempts that ended so since the fast store began."""

    ending: str
    reason: str
    n: int


class Point(msgspec.Struct, frozen=True):
    """One second of the history that is drawn."""

    at: datetime
    n_recorded: int | None
    """Outcomes since the fast store began."""
    matches_per_s: float
    n_waiting: int
    """Orders and reports in the queues of the broker."""
    rows_per_forward: float


class UnderWay(msgspec.Struct, frozen=True):
    """A tournament that is not over, and what it waits for; empty: it goes on."""

    pk: int
    name: str
    state: str
    n_closed: int
    n_matches: int
    n_sent: int
    """Matches in orders that are with nodes or on their way."""
    waits_for: str


class Sample(msgspec.Struct, frozen=True):
    """What one look at the whole system found."""

    at: datetime
    point: Point
    counts: Counts
    nodes: list[Node]
    queues: list[Queue]
    serving: list[Serving]
    failures: Failures
    delays: Delays
    tallies: list[AttemptTally]
    n_uncounted: int
    trouble: list[str]
    """What did not answer."""
    set_aside: list[str] = []
    """Damaged files of the broker that were set aside within a day."""
    tournaments: list[UnderWay] = []
    """The newest of those under way."""
    game_files: list[tuple[str, str, str]] = []
    """Of plug-in games: the file, its hash here, which nodes have another."""
    standstill: str = ""
    """Why nothing can play; empty: something can."""
    servers: list[Node] = []
    """The game servers."""


class SystemState(msgspec.Struct, frozen=True):
    """The newest sample with the minutes before it."""

    sample: Sample
    history: list[Point]
    control_at: datetime | None
    """When control looked; anybody else looks only while it does not."""
