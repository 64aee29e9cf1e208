"""Examples of every address: of pages, of the admin, and of the API's lists at their worst.

Names in braces stand for subjects of a filled database, such as {board}.
"""

from collections.abc import Mapping, Sequence

from pages.filters import SORTS

PAGES: Mapping[str, Sequence[str]] = {
    "home": ("/",),
    "favicon": ("/favicon.ico",),
    "login": ("/login/", "/login/?next=/system/"),
    "boards": (
        "/leaderboards/",
        "/leaderboards/?before=60",
        "/leaderboards/?q=evening&game=chess",
        "/leaderboards/?state=playing",
        "/leaderboards/?state=resting",
        "/leaderboards/?state=unlisted",
    ),
    "board": (
        "/leaderboards/{board}/",
        "/leaderboards/{board}/?page={last_page}",
        "/leaderboards/{board}/?q=1",
        "/leaderboards/{board}/?q=nobody+is+called+so",
        "/leaderboards/{board}/?kind=network",
        "/leaderboards/{board}/?run={run}",
        "/leaderboards/{board}/?tournament={tournament}",
        "/leaderboards/{board}/?q=a&kind=network&tournament={tournament}&sort=-trend",
        *(f"/leaderboards/{{board}}/?sort={sort}" for name in SORTS for sort in (name, f"-{name}")),
        "/leaderboards/{board}/?sort=name&page={last_page}",
    ),
    "season": (
        "/leaderboards/{board}/seasons/{season}/",
        "/leaderboards/{board}/seasons/{season}/?after=500",
    ),
    "agent": (
        "/agents/{busiest}/",
        "/agents/{busiest}/?board={board}&opponent={second}",
        "/agents/{busiest}/?match=1000&failure=1000",
        "/agents/{second}/",
        "/agents/{searcher}/",
    ),
    "agents": (
        "/agents/",
        "/agents/?before=1000",
        "/agents/?q=1&game=connect_four&kind=network",
        "/agents/?q=nobody+is+called+so",
        "/agents/?run={run}",
        "/agents/?state=in+quarantine",
        "/agents/?tournament={tournament}",
        "/agents/?leaderboard={board}&from=2020-01-01&to=2030-01-01",
    ),
    "tournaments": (
        "/tournaments/",
        "/tournaments/?agent={busiest}",
        "/tournaments/?state=running&game=connect_four",
        "/tournaments/?leaderboard={board}&q=a&pairing=random",
        "/tournaments/?from=2020-01-01&to=2030-01-01",
    ),
    "campaigns": (
        "/campaigns/",
        "/campaigns/?state=open&question=best",
        "/campaigns/?state=answered&agent={busiest}&leaderboard={board}",
    ),
    "search": (
        "/search/",
        "/search/?q=1",
        "/search/?q=network",
        "/search/?q=nobody+is+called+so",
        "/search/?q=%23{match}",
        "/search/?q={checkpoint}",
        "/search/?q={run}",
    ),
    "tournament": (
        "/tournaments/{tournament}/",
        "/tournaments/{tournament}/?after={deep}",
        "/tournaments/{running}/",
        "/tournaments/{small}/",
    ),
    "campaign": ("/tournaments/{running}/campaign/",),
    "match": (
        "/matches/{match}/",
        "/matches/{match}/?step=2",
        "/matches/{open_match}/",
        "/matches/{chess}/",
        "/matches/{chess}/?step=2",
        "/matches/{go}/?step=2",
    ),
    "match-frames": (
        "/matches/{match}/frames/",
        "/matches/{chess}/frames/",
        "/matches/{go}/frames/",
    ),
    "match-file": ("/matches/{match}/download.json", "/matches/{chess}/download.pgn"),
    "matches": (
        "/matches/",
        "/matches/?before=1000",
        "/matches/?agent={busiest}&result=drawn",
        "/matches/?agent={searcher}&seat=1&state=done",
        "/matches/?agent={busiest}&agent={second}",
        "/matches/?agent={busiest}&tournament={tournament}&result=forfeit",
        "/matches/?game=connect_four&state=pending",
        "/matches/?game=chess",
        "/matches/?state=void",
        "/matches/?state=cancelled&game=chess",
        "/matches/?state=running",
        "/matches/?state=void&leaderboard={board}",
        "/matches/?result=forfeit",
        "/matches/?result=forfeit&tournament={tournament}",
        "/matches/?reason=crash",
        "/matches/?ending=failed&reason=error",
        "/matches/?leaderboard={board}&result=drawn",
        "/matches/?leaderboard={board}&counted=yes",
        "/matches/?leaderboard={board}&agent={busiest}&counted=yes&result=won",
        "/matches/?tournament={tournament}&state=void",
        "/matches/?tournament={running}&state=open",
        "/matches/?from=2020-01-01&to=2030-01-01",
        "/matches/?to=2020-01-01",
        "/matches/?node=node-0001.europe-west4-b.example",
        "/matches/?node=nobody",
    ),
    "models": (
        "/models/",
        "/models/?game=cart_pole",
        "/models/?agent={busiest}&purpose=teacher",
        "/models/?for=connect_four&rating=30",
    ),
    "runs": ("/runs/", "/runs/?q=cart&game=cart_pole&state=done", "/runs/?before=2"),
    "run": ("/runs/{trained}/",),
    "run-now": ("/runs/{trained}/now/",),
    "games": ("/games/",),
    "game": ("/games/chess/", "/games/connect_four/"),
    "suite": ("/suites/llmserve/",),
    "compare": (
        "/compare/",
        "/compare/?agents={busiest},{second}",
        "/compare/?agents={busiest}&agents={second}&leaderboard={board}",
    ),
    "pair": (
        "/compare/{busiest}/{second}/",
        "/compare/{second}/{busiest}/?leaderboard={board}",
        "/compare/{busiest}/{searcher}/",
    ),
    "system": ("/system/",),
    "node": ("/system/nodes/{worker}/",),
    "healthz": ("/healthz",),
    "readyz": ("/readyz",),
    "health": ("/health/",),
    "metrics": ("/metrics",),
    "schema": ("/api/schema/", "/api/schema/?format=json"),
    "api-docs": ("/api/docs/",),
}
# Below these the admin and the schema say what there is.
ELSEWHERE = ("admin/", "api/v1/")
NOT_ASKED: Mapping[str, str] = {
    "logout": "an act, not a page: it takes a POST only",
    "checkpoint-file": "a file, not a page: its link is signed",
    "trajectory-piece": "a file, not a page: its link is signed",
    "run-file": "a file, not a page: its link is signed",
    "dataset-shard": "as above",
}

ADMIN_PAGES: Mapping[str, Sequence[str]] = {
    "index": ("/admin/",),
    "app_list": ("/admin/matches/",),
    "search": ("/admin/search/?s=agent",),
    "autocomplete": (
        "/admin/autocomplete/?app_label=matches&model_name=agent&field_name=checkpoint&term=c4",
    ),
    "jsi18n": ("/admin/jsi18n/",),
    "password_change": ("/admin/password_change/",),
}
ADMIN_NOT_ASKED: Mapping[str, str] = {
    "login": "it forwards who is in",
    "logout": "only by POST",
    "password_change_done": "says one sentence",
    "view_on_site": "forwards",
    "auth_user_password_change": "a form of one row",
}
# Whose row is shown, by model; of others the first there is.
ADMIN_ROWS: Mapping[str, str] = {
    "agent": "busiest",
    "checkpoint": "checkpoint_id",
    "leaderboard": "board_id",
    "match": "match",
    "outcome": "match",
    "order": "order",
    "tournament": "tournament",
    "tokenaccess": "token",
    "schedule": "schedule",
    "season": "season",
    "campaign": "campaign",
    "alarm": "alarm",
    "user": "operator",
    "worker": "worker",
}
ADMIN_FILTERS: Mapping[str, Sequence[str]] = {
    "match": ("tournament={tournament}", "state=done", "state=pending", "state=void"),
    "tournament": ("state=running", "state=done", "pairing=random"),
    "agent": ("game=connect_four", "policy=network", "is_retired__exact=1"),
    "checkpoint": ("game=connect_four", "state=refused"),
    "order": ("state=playing", "state=closed", "state=lost"),
    "outcome": ("is_forfeit__exact=1", "reason=crash"),
}
# Pages of a model besides the usual ones and its acts.
ADMIN_EXTRAS: Mapping[str, Sequence[str]] = {
    "matches_agent_pick": (
        "/admin/matches/agent/pick/",
        "/admin/matches/agent/pick/?leaderboard={board_id}",
    ),
    "matches_schedule_echo": ("/admin/matches/schedule/echo/?crontab=0+3+*+*+*&timezone=UTC",),
}
ADMIN_USUAL = ("changelist", "add", "history", "delete", "change", "ask")

# Cut by the server to the most that it gives.
LARGEST = "page_size=100000"

# What stands in an address, by what is before and the parameter itself.
IN_PATH: Mapping[str, str] = {
    "/api/v1/agents/{id}": "busiest",
    "/api/v1/alarms/{id}": "alarm",
    "/api/v1/campaigns/{id}": "campaign",
    "/api/v1/checkpoints/{sha256}": "checkpoint",
    "/api/v1/datasets/{name}": "dataset",
    "/api/v1/games/{game}": "game",
    "/api/v1/leaderboards/{name}": "board",
    "/api/v1/leaderboards/{name}/ratings/{agent}": "busiest",
    "/api/v1/matches/{id}": "match",
    "/api/v1/models/{name}": "trained",
    "/api/v1/runs/{name}": "trained",
    "/api/v1/schedules/{id}": "schedule",
    "/api/v1/seasons/{id}": "season",
    "/api/v1/tournaments/{id}": "tournament",
    "/api/v1/workers/{id}": "worker",
}

# Of every list and of what needs a query; each filter is in one of them.
QUERIES: Mapping[str, Sequence[str]] = {
    "/api/v1/agents/": (
        *("", "name=random+number+904", "game=connect_four", "game=chess", "policy=network"),
        *("policy=random", "is_retired=true", "is_retired=false", "checkpoint={checkpoint}"),
    ),
    "/api/v1/alarms/": ("", "open=true", "open=false", "leaderboard={board}"),
    "/api/v1/attempts/": (
        *("", "match={match}", "ending=done", "ending=forfeit", "ending=expired"),
        *("ending=failed", "ending=interrupted", "ending=forfeit&tournament={tournament}"),
        *("server=sim-1", "server=sim-1&ending=failed&tournament={tournament}"),
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
    "/api/v1/datasets/": ("", "game=cart_pole", "state=ready", "game=cart_pole&state=building"),
    "/api/v1/datasets/{name}/shards/": ("",),
    "/api/v1/leaderboards/": (
        "",
        "game=connect_four",
        "game=chess",
        "is_listed=false",
        "is_pinned=true",
    ),
    "/api/v1/leaderboards/{name}/comparison/": ("first={busiest}&second={second}",),
    "/api/v1/leaderboards/{name}/history/": ("",),
    "/api/v1/leaderboards/{name}/ratings/": ("",),
    "/api/v1/leaderboards/{name}/ratings/{agent}/history/": ("",),
    "/api/v1/imports/": ("", "leaderboard__name={board}"),
    "/api/v1/leaderboards/{name}/seasons/": ("",),
    "/api/v1/matches/": (
        *("tournament={tournament}", "leaderboard={board}", "agent={busiest}"),
        *("agent={busiest}&tournament={tournament}", "agent={searcher}"),
        *("tournament={tournament}&state=done", "tournament={tournament}&state=void"),
        *("tournament={tournament}&state=pending", "tournament={running}&state=pending"),
        *("tournament={running}&state=queued", "tournament={running}&state=running"),
        *("tournament={tournament}&state=cancelled",),
    ),
    "/api/v1/models/": ("", "game=cart_pole"),
    "/api/v1/models/{name}/latest/": ("", "released=true"),
    "/api/v1/models/{name}/versions/": ("",),
    "/api/v1/recommendations/": (
        "game=connect_four&agent={busiest}&leaderboard={board}&purpose=opponent",
        "game=connect_four&rating=30&purpose=teacher&limit=20",
    ),
    "/api/v1/runs/": ("", "game=cart_pole", "state=running", "game=cart_pole&state=done"),
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

# Which cursor leads to the last page; by id, the newest first, where it does not stand here.
DEEP: Mapping[str, str] = {
    "/api/v1/leaderboards/{name}/ratings/": "deep_rank",
    "/api/v1/leaderboards/{name}/history/": "deep_snapshot",
    "/api/v1/leaderboards/{name}/ratings/{agent}/history/": "deep_snapshot",
    "/api/v1/matches/": "deep_sequence",
    "/api/v1/outcomes/": "deep_sequence",
    "/api/v1/seasons/{id}/rows/": "deep_position",
    "/api/v1/tournaments/{id}/agents/": "deep_position",
}

# More examples.
API_NOT_ASKED: Mapping[str, str] = {
    "/api/v1/tournaments/{id}/manifest/": "what a generation wrote; the field has none",
    "/api/v1/imports/{id}/": "a row like others; the field has none",
    "/api/v1/leaderboards/{name}/results/": "a file of all results: as long as they are",
    "/api/v1/tournaments/{id}/shards/{number}/": "a file of a generation; the field has none",
    "/api/v1/gates/{id}/": "one test that a CI waits for; the field has none",
    "/api/v1/watches/look/": "what a training machine asks before it uploads",
}
ALONE: Mapping[str, Sequence[str]] = {
    "/api/v1/agents/{id}/": ("/api/v1/agents/{searcher}/",),
    "/api/v1/agents/{id}/explanation/": ("/api/v1/agents/{searcher}/explanation/",),
    "/api/v1/matches/{id}/": ("/api/v1/matches/{chess}/",),
    "/api/v1/matches/{id}/explanation/": ("/api/v1/matches/{open_match}/explanation/",),
    "/api/v1/tournaments/{id}/": ("/api/v1/tournaments/{running}/",),
    "/api/v1/tournaments/{id}/explanation/": ("/api/v1/tournaments/{running}/explanation/",),
    "/api/v1/checkpoints/{sha256}/": ("/api/v1/checkpoints/{latest}/",),
}

PAGE_PARAMETERS = {"cursor", "page_size"}
