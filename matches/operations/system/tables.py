"""The tables of the system's page: what runs, waits, fails or is missing, as texts."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict
from urllib.parse import urlencode

from arena import plugins
from arena.messages import Serving
from arena.queues import REPORTS_QUEUE, play_queue
from matches.dispatch import CONTROL_QUEUE
from matches.ledger.recorder_marks import MOST_LAG_S
from matches.operations.system.sample import Node, Queue, Sample, UnderWay
from matches.operations.system.standstill import PAUSED
from matches.operations.system.waiting import MAX_LISTED, MISSING
from matches.store.formats import format_count, format_short, format_span, hide_folders
from matches.store.start_hints import PLAY_HINT

NONE = "\N{EN DASH}"
NORMAL_WAKES = 5
"""Control is woken once a second and by what happens: it takes these few in one go."""


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


def list_tables(sample: Sample) -> list[Table]:
    """Return all tables in the order of the page; those of plug-ins only where there are some."""
    return [
        _list_tournaments(sample),
        _list_nodes(sample),
        *_list_game_servers(sample),
        _list_queues(sample.queues),
        _list_servers(sample.serving),
        _list_failures(sample),
        *_list_game_files(sample),
        *_list_broken_plugins(),
    ]


def format_delay(seconds: float | None) -> str:
    """Return how long something waits; a dash where that is not known."""
    return NONE if seconds is None else format_span(seconds)


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
        "empty": "None: schedule one, or start one with evalsite evaluate or campaign.",
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
        "empty": f"No node has reported within the last hour: {PLAY_HINT}.",
    }


def _describe_node(node: Node, sample: Sample) -> TableRow:
    # Clocks differ by a little: nothing was seen in the future.
    last_seen = f"{format_span(max(0.0, (sample.at - node.seen_at).total_seconds()))} ago"
    quarantine = f"in quarantine ({node.quarantine}), " if node.quarantine else ""
    last_seen = quarantine + "; ".join([last_seen, *node.warnings])
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
            last_seen if node.is_alive else f"lost, {last_seen}",
            " / ".join(version for version in versions if version) or NONE,
        ],
    }


def _list_game_servers(sample: Sample) -> list[Table]:
    """Return the game servers, where there are some."""
    if not sample.servers:
        return []
    counts = sample.counts
    taken_slots = (
        f"{counts.n_server_slots_taken:,} of {format_count(counts.n_server_slots, 'slot')}"
    )
    return [
        {
            "name": "game-servers",
            "caption": f"Game servers: {taken_slots} taken of those that may be sent matches",
            "columns": ["Server", "Game", "Slots taken", "Load", "Address", "State"],
            "rows": [_describe_server(server, sample) for server in sample.servers],
            "empty": "",
        }
    ]


def _describe_server(server: Node, sample: Sample) -> TableRow:
    last_seen = f"{format_span(max(0.0, (sample.at - server.seen_at).total_seconds()))} ago"
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
            f"{state}; seen {last_seen}" if state else f"ready, seen {last_seen}",
        ],
    }


def _describe_kind(node: Node) -> str:
    kind = ", ".join(dict.fromkeys([node.kind, *node.capabilities]))
    labels = ", ".join(f"{name} {value}" for name, value in sorted(node.labels.items()))
    return f"{kind}; {labels}" if labels else kind


def format_load(load: Mapping[str, float]) -> str:
    """Return how busy a machine is; empty where that is not known."""
    rest = (
        f"{name} {100 * share:.0f}\N{NO-BREAK SPACE}%"
        for name, share in sorted(load.items())
        if name != "cpu"
    )
    # Of those that wait for a core, too: as a percentage it would pass for time that is computed.
    busy = [f"{load['cpu']:.1f} processes per core"] if "cpu" in load else []
    return ", ".join([*busy, *rest])


def _list_queues(queues: Sequence[Queue]) -> Table:
    rows: list[TableRow] = []
    for queue in queues:
        tone, state = _judge_queue(queue)
        cells = [
            queue.name,
            "?" if queue.length is None else f"{queue.length:,}",
            format_delay(queue.oldest_s),
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
        is_behind, program, most = queue.length > NORMAL_WAKES, "control", f"{NORMAL_WAKES}"
    elif queue.name.startswith(REPORTS_QUEUE):
        is_behind = (queue.oldest_s or 0) > MOST_LAG_S
        program, most = "the recorder", format_span(MOST_LAG_S)
    else:
        return "good", "yes: orders wait for a free slot" if queue.length else "yes: nothing waits"
    if is_behind:
        return "warn", f"no: {program} is behind or down (up to {most} are normal)"
    return "good", f"yes (up to {most})"


def _list_servers(serving: Sequence[Serving]) -> Table:
    columns = [
        *("Worker", "Positions per network call", "Positions/s"),
        *("Answer: median / 99 of 100 at most", "Models", "Waiting"),
    ]
    rows: list[TableRow] = []
    for server in serving:
        per_forward = server.rows_per_s / server.forwards_per_s if server.forwards_per_s else None
        cells = [
            server.gpu,
            NONE if per_forward is None else format_short(per_forward),
            format_short(server.rows_per_s),
            NONE if server.p50_ms is None else f"{server.p50_ms:.1f} / {server.p99_ms or 0:.1f} ms",
            f"{server.n_models:,}",
            f"{server.n_waiting:,}",
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
        {"tone": "bad" if others else "good", "cells": [file, own_version, others or NONE]}
        for file, own_version, others in sample.game_files
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
    # All who look are sent the same tables; /health/ names the folder to staff.
    rows: list[TableRow] = [
        {"tone": "bad", "cells": [hide_folders(problem.file), hide_folders(problem.reason)]}
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
