"""The GET endpoints of the API as its schema has them, each list at its worst."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from benchmarks.field.errors import ForgottenError

LARGEST = "page_size=100000"
"""Cut by the server to the most that it gives."""

IN_PATH: Mapping[str, str] = {
    "/api/v1/agents/{id}": "busiest",
    "/api/v1/alarms/{id}": "alarm",
    "/api/v1/campaigns/{id}": "campaign",
    "/api/v1/checkpoints/{sha256}": "checkpoint",
    "/api/v1/leaderboards/{name}": "board",
    "/api/v1/leaderboards/{name}/ratings/{agent}": "busiest",
    "/api/v1/matches/{id}": "match",
    "/api/v1/schedules/{id}": "schedule",
    "/api/v1/seasons/{id}": "season",
    "/api/v1/tournaments/{id}": "tournament",
    "/api/v1/workers/{id}": "worker",
}
"""What stands in an address, by what is before and the parameter itself."""

QUERIES: Mapping[str, Sequence[str]] = {
    "/api/v1/agents/": (
        *("", "name=random+number+904", "game=connect_four", "game=chess", "policy=network"),
        *("policy=random", "is_retired=true", "is_retired=false", "checkpoint={checkpoint}"),
    ),
    "/api/v1/alarms/": ("", "open=true", "open=false", "leaderboard={board}"),
    "/api/v1/attempts/": (
        *("", "match={match}", "ending=done", "ending=forfeit", "ending=expired"),
        *("ending=failed", "ending=interrupted", "ending=forfeit&tournament={tournament}"),
    ),
    "/api/v1/campaigns/": (
        *("", "question=best", "decided=true", "decided=false", "tournament={running}"),
        "leaderboard={board}",
    ),
    "/api/v1/campaigns/{id}/curve/": ("",),
    "/api/v1/audit/": (
        *("", "action=match.void", "target_kind=agent&target_id=1", "target_kind=tournament"),
        *("target_id={tournament}", "target_kind=agent&action=match.void"),
    ),
    "/api/v1/checkpoints/": (
        *("", "game=connect_four", "game=chess", "run={run}", "state=ready", "state=refused"),
        *("state=checking", "game=connect_four&run={run}&state=refused"),
    ),
    "/api/v1/leaderboards/": ("", "game=connect_four", "game=chess", "is_listed=false"),
    "/api/v1/leaderboards/{name}/comparison/": ("first={busiest}&second={second}",),
    "/api/v1/leaderboards/{name}/history/": ("",),
    "/api/v1/leaderboards/{name}/ratings/": ("",),
    "/api/v1/leaderboards/{name}/ratings/{agent}/history/": ("",),
    "/api/v1/leaderboards/{name}/seasons/": ("",),
    "/api/v1/matches/": (
        *("tournament={tournament}", "leaderboard={board}", "agent={busiest}"),
        *("agent={busiest}&tournament={tournament}", "agent={searcher}"),
        *("tournament={tournament}&state=done", "tournament={tournament}&state=void"),
        *("tournament={tournament}&state=pending", "tournament={running}&state=pending"),
        *("tournament={running}&state=queued", "tournament={running}&state=running"),
        *("tournament={tournament}&state=cancelled",),
    ),
    "/api/v1/outcomes/": ("tournament={tournament}", "tournament={running}"),
    "/api/v1/schedules/": ("", "is_enabled=false", "leaderboard__name={board}"),
    "/api/v1/seasons/{id}/rows/": ("",),
    "/api/v1/tokens/": ("",),
    "/api/v1/tournaments/": (
        *("", "leaderboard__name={board}", "state=done", "state=cancelled", "state=paused"),
    ),
    "/api/v1/tournaments/{id}/agents/": ("",),
    "/api/v1/trajectories/": ("tournament={kept}",),
    "/api/v1/trajectories/manifest/": ("tournament={kept}",),
    "/api/v1/workers/": ("", "node=node-0001.europe-west4-b.example"),
}
"""Of every list and of what needs a query; each filter is in one of them."""

DEEP: Mapping[str, str] = {
    "/api/v1/leaderboards/{name}/ratings/": "deep_rank",
    "/api/v1/leaderboards/{name}/history/": "deep_snapshot",
    "/api/v1/leaderboards/{name}/ratings/{agent}/history/": "deep_snapshot",
    "/api/v1/matches/": "deep_sequence",
    "/api/v1/outcomes/": "deep_sequence",
    "/api/v1/seasons/{id}/rows/": "deep_position",
    "/api/v1/tournaments/{id}/agents/": "deep_position",
}
"""Which cursor leads to the last page; by id, the newest first, where it does not stand here."""

ALONE: Mapping[str, Sequence[str]] = {
    "/api/v1/agents/{id}/": ("/api/v1/agents/{searcher}/",),
    "/api/v1/agents/{id}/explanation/": ("/api/v1/agents/{searcher}/explanation/",),
    "/api/v1/matches/{id}/": ("/api/v1/matches/{chess}/",),
    "/api/v1/matches/{id}/explanation/": ("/api/v1/matches/{open_match}/explanation/",),
    "/api/v1/tournaments/{id}/": ("/api/v1/tournaments/{running}/",),
    "/api/v1/tournaments/{id}/explanation/": ("/api/v1/tournaments/{running}/explanation/",),
    "/api/v1/checkpoints/{sha256}/": ("/api/v1/checkpoints/{latest}/",),
}
"""More examples."""

_PAGES = {"cursor", "page_size"}


def addresses() -> Iterator[str]:
    """Yield all. Raises ForgottenError naming parameters and filters without an example."""
    generator: Any = SchemaGenerator  # it has no types
    schema = generator().get_schema(request=None, public=True)
    yield "/api/v1/"
    for template, operations in schema["paths"].items():
        if "get" in operations:
            yield from _of(template, operations["get"].get("parameters", []))


def _of(template: str, parameters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    asked = {one["name"] for one in parameters if one["in"] == "query"}
    queries = QUERIES.get(template, () if asked else ("",))
    missing = [name for name in asked - _PAGES if not any(f"{name}=" in q for q in queries)]
    if missing or not queries:
        raise ForgottenError(f"no example in QUERIES of {template} with {', '.join(missing)}")
    path = _filled(template)
    deep = DEEP.get(template, "deep_id")
    pages = (LARGEST, f"{LARGEST}&cursor={{{deep}}}") if "page_size" in asked else ("",)
    for query, page in product(queries, pages):
        # The matches of an agent are cut by match, not by place.
        here = page.replace("deep_sequence", "deep_id") if "agent=" in query else page
        wanted = "&".join(filter(None, (query, here)))
        yield f"{path}?{wanted}" if wanted else path
    yield from ALONE.get(template, ())


def _filled(template: str) -> str:
    """Return the address with names of subjects instead of parameters."""
    filled, seen = "", ""
    for part in template.strip("/").split("/"):
        seen = f"{seen}/{part}"
        if part.startswith("{"):
            if seen not in IN_PATH:
                raise ForgottenError(f"no example in IN_PATH for {seen}")
            part = f"{{{IN_PATH[seen]}}}"
        filled = f"{filled}/{part}"
    return f"{filled}/"
