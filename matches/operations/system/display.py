"""The state of the system as it is shown: every number rounded here, once, for page and socket."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NotRequired, TypedDict
from urllib.parse import urlencode

from arena import plugins
from arena.messages import REPORTS_QUEUE, Serving, play_queue
from matches.dispatch import CONTROL_QUEUE
from matches.ledger.recorder_marks import MOST_LAG_S
from matches.operations.system.sample import Node, Queue, Sample, SystemState, UnderWay
from matches.operations.system.standstill import PAUSED
from matches.operations.system.waiting import MAX_LISTED, MISSING
from matches.store.formats import format_count, format_short, format_span

SILENT_AFTER = timedelta(seconds=5)
"""Control looks every second; what is older than this says that it does not any more."""


NONE = "\N{EN DASH}"
NORMAL_WAKES = 5
"""Control is woken once a second and by what happens: it takes these few in one go."""
MAX_DRAWN = 150
"""Points of a line: more than these are drawn as the highest of two, and so on."""


HIGHEST = 80
"""Where the highest point of a line is drawn, in percent from below; system.html has its mark."""


class Fact(TypedDict):
    """A number of the page's head, by the name of its place."""

    name: str
    label: str
    value: str


class Chart(TypedDict):
    """A line of the last minutes: points across 0..100 and down 0..100, and what is highest."""

    name: str
    label: str
    now: str
    most: str
    points: str


class TableRow(TypedDict):
    """Texts of a row; the first names it. tone: good, warn, bad or nothing.

    node, tournament: the one whose page it leads to.
    matches: the filter of the list of matches that it counts, as an address has it.
    """

    tone: str
    cells: list[str]
    node: NotRequired[int]
    matches: NotRequired[str]
    tournament: NotRequired[int]


class Table(TypedDict):
    """A table of texts."""

    name: str
    caption: str
    columns: list[str]
    rows: list[TableRow]
    empty: str


class Shown(TypedDict):
    """The whole page."""

    type: str
    at: str
    standstill: str
    trouble: str
    facts: list[Fact]
    charts: list[Chart]
    tables: list[Table]


def format_state(state: SystemState) -> Shown:
    """Return what page and socket show of a state."""
    sample, points = state.sample, state.history
    waiting = [float(point.n_waiting) for point in points]
    return {
        "type": "system",
        "at": sample.at.isoformat(),
        "standstill": sample.standstill,
        "trouble": _describe_trouble(state),
        "facts": _list_facts(sample),
        "charts": [
            _draw_chart("pace", "matches a second", [point.matches_per_s for point in points]),
            _draw_chart("waiting", "messages waiting", waiting),
            _draw_chart(
                "rows", "positions per network call", [point.rows_per_forward for point in points]
            ),
        ],
        "tables": [
            _list_tournaments(sample),
            _list_nodes(sample),
            *_list_game_servers(sample),
            _list_queues(sample.queues),
            _list_servers(sample.serving),
            _list_failures(sample),
            *_list_game_files(sample),
            *_list_broken_plugins(),
        ],
    }


CONTROL = "control, which plans matches and judges campaigns,"


def _describe_trouble(state: SystemState) -> str:
    troubles = [f"the {part} does not answer" for part in state.sample.trouble]
    troubles += [_describe_file(name) for name in state.sample.set_aside]
    if state.control_at is None:
        troubles.append(f"{CONTROL} has not looked yet: is it running?")
    elif (silent := state.sample.at - state.control_at) > SILENT_AFTER:
        troubles.append(f"{CONTROL} has not looked for {format_span(silent.total_seconds())}")
    return "; ".join(troubles)


def _describe_file(name: str) -> str:
    """Return what became of what was in a damaged file of a server, such as broker/set-aside-..."""
    server = name.partition("/")[0]
    lost = "what waited in it is sent again"
    if server == "stream":
        lost = "what the sink had not written is in it alone"
    return f"the {server}'s file was damaged and is kept as {name} in the data folder: {lost}"


def _list_facts(sample: Sample) -> list[Fact]:
    counts, delays = sample.counts, sample.delays
    start, rating = NONE, "0 s"
    if delays.start_p50_s is not None:
        p50, p99 = _format_delay(delays.start_p50_s), _format_delay(delays.start_p99_s)
        start = p50 if p50 == p99 else f"{p50} in the median, 99 of 100 at most {p99}"
    if sample.n_uncounted:
        rating = f"{_format_delay(delays.rating_s)}, {format_count(sample.n_uncounted, 'outcome')}"
    return [
        _make_fact("nodes", "play nodes", f"{counts.n_play:,}"),
        _make_fact("slots", "matches at once", f"{counts.n_slots:,}"),
        _make_fact("gpus", "gpu workers", f"{counts.n_gpu:,}"),
        _make_fact("lost", "nodes lost within the hour", f"{counts.n_lost:,}"),
        _make_fact("start", "matches wait to start", start),
        _make_fact("recorder", f"{delays.recorder} behind", _format_delay(delays.recorder_s)),
        _make_fact("rating", "ratings behind", rating),
    ]


def _make_fact(name: str, label: str, value: str) -> Fact:
    return {"name": name, "label": label, "value": value}


def _format_delay(seconds: float | None) -> str:
    return NONE if seconds is None else format_span(seconds)


def _draw_chart(name: str, label: str, values: Sequence[float]) -> Chart:
    width = -(-len(values) // MAX_DRAWN) or 1
    drawn = [max(values[n : n + width]) for n in range(0, len(values), width)]
    most = max(drawn, default=0.0)
    across = 100 / max(1, len(drawn) - 1)
    # Down the picture; a line that is nowhere above 0 lies at its foot.
    scale = HIGHEST / most if most else 0.0
    points = [f"{n * across:.1f},{100 - scale * value:.1f}" for n, value in enumerate(drawn)]
    return {
        "name": name,
        "label": label,
        "now": format_short(values[-1]) if values else NONE,
        "most": format_short(most),
        "points": " ".join(points),
    }


def _choose_tone(tournament: UnderWay) -> str:
    # Somebody has paused it, so nothing is wrong.
    if tournament.state == PAUSED:
        return ""
    return "bad" if tournament.waits_for.startswith(MISSING) else "good"


def _list_tournaments(sample: Sample) -> Table:
    rows: list[TableRow] = [
        {
            "tone": _choose_tone(tournament),
            "tournament": tournament.pk,
            "cells": [
                tournament.name,
                tournament.state,
                f"{tournament.n_closed:,} of {tournament.n_matches:,}",
                f"{tournament.n_sent:,}",
                tournament.waits_for or "nothing",
            ],
        }
        for tournament in sample.tournaments
    ]
    cut = f", the newest {MAX_LISTED} only" if len(rows) >= MAX_LISTED else ""
    return {
        "name": "tournaments",
        "caption": f"Tournaments under way{cut}",
        "columns": ["Tournament", "State", "Matches ended", "With nodes", "What it waits for"],
        "rows": rows,
        "empty": "None: schedule one, or ask a question with evalsite evaluate.",
    }


def _list_nodes(sample: Sample) -> Table:
    n_held = sum(bool(node.quarantine) and node.is_alive for node in sample.nodes)
    n_all = sample.counts.n_play + sample.counts.n_gpu + sample.counts.n_lost + n_held
    n_hidden = n_all - len(sample.nodes)
    more = f", {n_hidden:,} more are not listed" if n_hidden else ""
    return {
        "name": "nodes",
        "caption": f"Nodes: alive, or lost within the last hour{more}",
        "columns": ["Node", "Kind", "Slots", "In hand", "Load", "Last seen", "Versions"],
        "rows": [_describe_node(node, sample) for node in sample.nodes],
        "empty": "No node has reported within the last hour: start one with ./run up --nodes 1.",
    }


def _describe_node(node: Node, sample: Sample) -> TableRow:
    # Clocks differ by a little: nothing was seen in the future.
    seen = f"{format_span(max(0.0, (sample.at - node.seen_at).total_seconds()))} ago"
    held = f"in quarantine ({node.quarantine}), " if node.quarantine else ""
    seen = held + "; ".join([seen, *node.warnings])
    orders = f"{node.n_matches:,} in {format_count(node.n_orders, 'order')}"
    in_hand = orders if node.n_orders else "nothing"
    waits = f", {node.n_queued:,} more wait" if node.n_queued else ""
    versions = [node.versions.get("evalsite"), node.versions.get("python")]
    return {
        "tone": "good" if node.is_free and not node.warnings else "bad",
        "node": node.pk,
        "cells": [
            node.name,
            _describe_kind(node),
            f"{node.slots:,}",
            f"{in_hand}{waits}" if node.kind == "play" else NONE,
            format_load(node.load) or NONE,
            seen if node.is_alive else f"lost, {seen}",
            " / ".join(version for version in versions if version) or NONE,
        ],
    }


def _list_game_servers(sample: Sample) -> list[Table]:
    """Return the game servers, where there are some."""
    if not sample.servers:
        return []
    counts = sample.counts
    taken = f"{counts.n_server_slots_taken:,} of {format_count(counts.n_server_slots, 'slot')}"
    return [
        {
            "name": "game-servers",
            "caption": f"Game servers: {taken} taken of those that may be sent matches",
            "columns": ["Server", "Game", "Slots taken", "Load", "Address", "State"],
            "rows": [_describe_server(server, sample) for server in sample.servers],
            "empty": "",
        }
    ]


def _describe_server(server: Node, sample: Sample) -> TableRow:
    seen = f"{format_span(max(0.0, (sample.at - server.seen_at).total_seconds()))} ago"
    state = "; ".join(filter(None, [server.problem, *server.warnings]))
    return {
        "tone": "bad" if state else "good",
        "node": server.pk,
        "cells": [
            server.name,
            server.game or NONE,
            f"{server.n_matches:,} of {server.slots:,}",
            format_load(server.load) or NONE,
            server.address or NONE,
            f"{state}; seen {seen}" if state else f"ready, seen {seen}",
        ],
    }


def _describe_kind(node: Node) -> str:
    kind = ", ".join(dict.fromkeys([node.kind, *node.capabilities]))
    labels = ", ".join(f"{name} {value}" for name, value in sorted(node.labels.items()))
    return f"{kind}; {labels}" if labels else kind


def format_load(load: Mapping[str, float]) -> str:
    """Return how busy a machine is; empty where that is not known."""
    return ", ".join(
        f"{name} {100 * share:.0f}\N{NO-BREAK SPACE}%" for name, share in sorted(load.items())
    )


def _list_queues(queues: Sequence[Queue]) -> Table:
    rows: list[TableRow] = []
    for queue in queues:
        tone, state = _judge_queue(queue)
        cells = [
            queue.name,
            "?" if queue.length is None else f"{queue.length:,}",
            _format_delay(queue.oldest_s),
            NONE if queue.n_takers is None else f"{queue.n_takers:,}",
            state,
        ]
        rows.append({"tone": tone, "cells": cells})
    return {
        "name": "queues",
        "caption": "Queues of the broker",
        "columns": ["Queue", "Messages", "Oldest waits", "Takers alive", "Is that normal?"],
        "rows": rows,
        "empty": "",
    }


def _judge_queue(queue: Queue) -> tuple[str, str]:
    """Return the tone of a queue and, in words, whether what waits in it is normal."""
    if queue.length is None:
        return "bad", "not known: the broker does not answer"
    # Without a play node nothing is ever sent, so that its queues are empty, and not well.
    is_needed = bool(queue.length) or queue.name == play_queue("*")
    if is_needed and queue.n_takers == 0:
        return "bad", "no: nobody is alive to take them"
    if queue.name == CONTROL_QUEUE:
        is_behind, who, most = queue.length > NORMAL_WAKES, "control", f"{NORMAL_WAKES}"
    elif queue.name.startswith(REPORTS_QUEUE):
        is_behind = (queue.oldest_s or 0) > MOST_LAG_S
        who, most = "the recorder", format_span(MOST_LAG_S)
    else:
        return "good", "yes: orders wait for a free slot" if queue.length else "yes: nothing waits"
    if is_behind:
        return "warn", f"no: {who} is behind or down (up to {most} are normal)"
    return "good", f"yes (up to {most})"


def _list_servers(serving: Sequence[Serving]) -> Table:
    columns = [
        *("Worker", "Positions per network call", "Positions/s"),
        *("Answer: median / 99 of 100 at most", "Models", "Waiting"),
    ]
    rows: list[TableRow] = []
    for one in serving:
        per_forward = one.rows_per_s / one.forwards_per_s if one.forwards_per_s else None
        cells = [
            one.gpu,
            NONE if per_forward is None else format_short(per_forward),
            format_short(one.rows_per_s),
            NONE if one.p50_ms is None else f"{one.p50_ms:.1f} / {one.p99_ms or 0:.1f} ms",
            f"{one.n_models:,}",
            f"{one.n_waiting:,}",
        ]
        rows.append({"tone": "good", "cells": cells})
    return {
        "name": "serving",
        "caption": "Inference: what the gpu workers did within the last seconds",
        "columns": columns,
        "rows": rows,
        "empty": "No gpu worker is alive, or none has said anything for ten seconds.",
    }


def _list_game_files(sample: Sample) -> list[Table]:
    """Return which nodes have other files of games, where some games are plug-ins."""
    rows: list[TableRow] = [
        {"tone": "bad" if others else "good", "cells": [file, here, others or NONE]}
        for file, here, others in sample.game_files
    ]
    if not rows:
        return []
    return [
        {
            "name": "game-files",
            "caption": "Games that are plug-ins: a node with another file gets no match of them",
            "columns": ["File", "Here", "Nodes with another"],
            "rows": rows,
            "empty": "",
        }
    ]


def _list_broken_plugins() -> list[Table]:
    """Return the plug-ins that cannot be used here, where there are some."""
    rows: list[TableRow] = [
        {"tone": "bad", "cells": [problem.file, problem.reason]}
        for problem in plugins.list_problems()
    ]
    if not rows:
        return []
    caption = "Plug-ins that cannot be used: mend or move the file, then start evalsite again"
    return [
        {
            "name": "plugins",
            "caption": caption,
            "columns": ["File", "Reason"],
            "rows": rows,
            "empty": "",
        }
    ]


def _list_failures(sample: Sample) -> Table:
    failures = sample.failures
    cut = ", the newest only: there are more" if failures.is_cut else ""
    return {
        "name": "failures",
        "caption": f"Attempts of the last hour that were not simply done{cut}",
        "columns": ["Ending", "Reason", "Attempts"],
        "rows": [
            {
                "tone": "",
                "matches": urlencode({"ending": row.ending, "reason": row.reason}),
                "cells": [row.ending, row.reason or NONE, f"{row.n:,}"],
            }
            for row in failures.rows
        ],
        "empty": "None within the last hour.",
    }
