"""The rows that are asked for: of each kind the one whose page shows most."""

import json
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from benchmarks.field import people
from benchmarks.field.boards import MAIN
from matches.models import (
    Alarm,
    Campaign,
    Checkpoint,
    Leaderboard,
    Match,
    Order,
    Rating,
    RatingSnapshot,
    Schedule,
    Season,
    TokenAccess,
    Tournament,
    Worker,
)
from matches.ratings.standings import TOP

LARGEST_PAGE, A_PAGE = 500, 50


@dataclass(frozen=True)
class Subjects:
    """Ids and names; busiest: the agent with most matches; kept: has trajectories.

    chess, go: matches of many moves; deep_...: cursors of the last page of the API's lists.
    """

    board: str
    board_id: int
    busiest: int
    second: int
    searcher: int
    tournament: int
    running: int
    small: int
    match: int
    open_match: int
    chess: int
    go: int
    kept: int
    order: int
    schedule: int
    campaign: int
    alarm: int
    season: int
    worker: int
    checkpoint: str
    checkpoint_id: int
    latest: str
    run: str
    token: int
    operator: int
    n_agents: int
    n_matches: int
    last_page: int
    deep: int
    deep_id: str
    deep_sequence: str
    deep_position: str
    deep_snapshot: str
    deep_rank: str


def found() -> Subjects:
    """Return them."""
    board = Leaderboard.objects.get(name=MAIN)
    rated = Rating.objects.filter(leaderboard=board)
    tournaments = Tournament.objects.filter(leaderboard=board)
    largest, running = tournaments.earliest("pk"), tournaments.latest("pk")
    busiest = rated.order_by("-n_matches")[0].agent_id
    checkpoint = Checkpoint.objects.get(sha256=people.hash_of(0))
    chess, go = (
        Match.objects.filter(leaderboard__game=game).latest("pk").pk for game in people.OTHER_GAMES
    )
    n_agents, n_matches = rated.count(), Match.objects.filter(leaderboard=board).count()
    snapshots = RatingSnapshot.objects.filter(leaderboard=board).order_by("taken_at")
    last = rated.order_by("-mu")[n_agents - min(n_agents, LARGEST_PAGE)]
    return Subjects(
        board=board.name,
        board_id=board.pk,
        busiest=busiest,
        second=busiest + 1,
        searcher=rated.latest("agent_id").agent_id,
        tournament=largest.pk,
        running=running.pk,
        small=Tournament.objects.earliest("pk").pk,
        match=largest.matches.filter(state="done").latest("sequence").pk,
        open_match=running.matches.latest("sequence").pk,
        chess=chess,
        go=go,
        kept=tournaments.get(keeps_trajectories=True).pk,
        order=Order.objects.latest("pk").pk,
        schedule=Schedule.objects.latest("pk").pk,
        campaign=Campaign.objects.latest("pk").pk,
        alarm=Alarm.objects.latest("pk").pk,
        season=Season.objects.latest("pk").pk,
        worker=Worker.objects.earliest("pk").pk,
        checkpoint=checkpoint.sha256,
        checkpoint_id=checkpoint.pk,
        latest=Checkpoint.objects.latest("pk").sha256,
        run=checkpoint.run,
        token=TokenAccess.objects.latest("pk").pk,
        operator=User.objects.get(username=people.ADMIN).pk,
        n_agents=n_agents,
        n_matches=n_matches,
        last_page=-(-n_agents // TOP),
        deep=max(largest.n_matches - A_PAGE, 0),
        deep_id=_cursor(LARGEST_PAGE + 1),
        deep_sequence=_cursor(max(n_matches - LARGEST_PAGE, 0)),
        deep_position=_cursor(max(n_agents - LARGEST_PAGE, 0)),
        deep_snapshot=_cursor(snapshots[min(A_PAGE, len(snapshots) - 1)].taken_at),
        deep_rank=_encoded([n_agents - LARGEST_PAGE, last.mu, last.agent_id]),
    )


def _cursor(position: object) -> str:
    """Return the cursor of the framework's pages for what comes after this key."""
    text = urlencode({"p": str(position)})
    return quote(b64encode(text.encode()).decode())


def _encoded(place: list[Any]) -> str:
    """Return the cursor of the list of ratings."""
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def cookie() -> str:
    """Return the cookie of a login of the operator in the admin."""
    operator = User.objects.get(username=people.ADMIN)
    session = SessionStore()
    session["_auth_user_id"] = str(operator.pk)
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session["_auth_user_hash"] = operator.get_session_auth_hash()
    session.create()
    return f"sessionid={session.session_key}"
