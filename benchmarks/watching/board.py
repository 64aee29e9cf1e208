"""A leaderboard whose matches never run out, and what is pushed of it; needs Django set up."""

import json
from time import time
from types import TracebackType
from typing import Any, Self

import numpy as np
from channels.layers import get_channel_layer
from django.conf import settings
from django.db.models import Count
from redis import Redis

from benchmarks.watching.figures import Outcomes
from matches.artifacts.agents import register_spelled_agent
from matches.board import broadcast
from matches.ledger.tournaments import cancel_tournament, open_leaderboard, schedule_tournament
from matches.models import Leaderboard, Outcome, Tournament
from matches.plans import TournamentPlan
from matches.store.clock import db_now

GAME = "skill_game"
N_LEVELS = 100
N_LEFT = 10_000
"""Matches that are left when the next tournament is scheduled: more than are played until then."""
_POLL_S = 0.05


class Board:
    """A leaderboard of the test game that always has matches to play."""

    def __init__(self, n_agents: int, *, n_matches: int) -> None:
        self._n_matches = n_matches
        self.leaderboard: Leaderboard = open_leaderboard("watched", game=GAME)
        self._agents = [
            register_spelled_agent(f"level:{n % N_LEVELS}", game=GAME, copy=1 + n // N_LEVELS)
            for n in range(n_agents)
        ]
        self._n_tournaments = 0

    @property
    def path(self) -> str:
        """Return the path of its socket."""
        return f"/ws/leaderboards/{self.leaderboard.name}/"

    def keep_on(self) -> int:
        """Schedule the next tournament when little is left; return how many were recorded.

        Tournaments of one board that run side by side keep the live rating's prefix behind, and
        that costs: so they follow one another.
        """
        total = Tournament.objects.filter(leaderboard=self.leaderboard)
        n_done = sum(total.values_list("n_done", flat=True))
        if self._n_tournaments * self._n_matches - n_done < N_LEFT:
            self._n_tournaments += 1
            plan = TournamentPlan(
                name=f"watched {self._n_tournaments}",
                n_matches=self._n_matches,
                pairing="random",
                seed=self._n_tournaments,
            )
            schedule_tournament(plan, leaderboard=self.leaderboard, agents=self._agents)
        return n_done

    def finish(self) -> None:
        """Send no more matches."""
        for tournament in Tournament.objects.filter(
            leaderboard=self.leaderboard, finished_at__isnull=True
        ):
            cancel_tournament(tournament, now=db_now())

    def outcomes(self) -> Outcomes:
        """Return when how many outcomes were recorded."""
        found = Outcome.objects.order_by("recorded_at").values_list("recorded_at")
        rows = list(found.annotate(n=Count("pk")))
        at = np.array([moment.timestamp() for moment, _ in rows])
        return Outcomes(at, np.cumsum([n for _, n in rows]))


class Pushes:
    """Notes when control pushes each state, as the fast store passes it on."""

    def __init__(self, leaderboard: Leaderboard) -> None:
        self.at: dict[int, float] = {}
        self._layer: Any = get_channel_layer()
        self._client: Any = Redis.from_url(settings.FAST_REDIS_URL)
        self._heard = self._client.pubsub()  # type: ignore[no-untyped-call]  # of redis
        self._heard.subscribe(**{f"asgi__group__{broadcast.group(leaderboard.pk)}": self._note})
        self._thread = self._heard.run_in_thread(sleep_time=_POLL_S, daemon=True)

    def _note(self, message: dict[str, Any]) -> None:
        now = time()
        delta = json.loads(self._layer.deserialize(message["data"])["text"])
        self.at.setdefault(delta["sequence"], now)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.stop()
        self._thread.join()
        self._heard.close()
        self._client.close()
