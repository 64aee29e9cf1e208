"""A leaderboard whose matches never run out, and what is pushed of it; needs Django set up."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import time
from typing import Any

import numpy as np
from channels.layers import get_channel_layer
from django.conf import settings
from django.db.models import Count
from redis import Redis

from benchmarks.stacks import open_board, schedule_agents
from benchmarks.watching.figures import Outcomes
from matches.artifacts.agents import register_spelled_agent
from matches.board import broadcast
from matches.ledger.tournaments import cancel_tournament
from matches.models import Leaderboard, Outcome, Tournament
from matches.store.clock import db_now

GAME = "skill_game"
N_LEVELS = 100
# Matches of one tournament; one after the other is scheduled.
N_MATCHES = 100_000
# Matches that are left when the next tournament is scheduled: more than are played until then.
N_LEFT = 10_000
POLL_S = 0.05


class Board:
    """A leaderboard of the test game that always has matches to play."""

    def __init__(self, n_agents: int) -> None:
        self.leaderboard: Leaderboard = open_board("watched", GAME)
        self.path = f"/ws/leaderboards/{self.leaderboard.name}/"
        self._tournaments = Tournament.objects.filter(leaderboard=self.leaderboard)
        self._agents = [
            register_spelled_agent(f"level:{n % N_LEVELS}", game=GAME, copy=1 + n // N_LEVELS)
            for n in range(n_agents)
        ]

    def keep_busy(self) -> int:
        """Schedule the next tournament when little is left; return how many were recorded.

        Tournaments of one board that run side by side keep the live rating's prefix behind, and
        that costs: so they follow one another.
        """
        done = self._tournaments.values_list("n_done", flat=True)
        n_done = sum(done)
        if len(done) * N_MATCHES - n_done < N_LEFT:
            schedule_agents(
                self.leaderboard, self._agents, N_MATCHES, seed=len(done) + 1, pairing="random"
            )
        return n_done

    def cancel_rest(self) -> None:
        for tournament in self._tournaments.filter(finished_at__isnull=True):
            cancel_tournament(tournament, now=db_now())

    def read_outcomes(self) -> Outcomes:
        moments = Outcome.objects.order_by("recorded_at").values_list("recorded_at")
        # Grouped by moment: a report records many at once.
        rows = list(moments.annotate(n=Count("pk")))
        at = np.array([moment.timestamp() for moment, _ in rows])
        return Outcomes(at, np.cumsum([n for _, n in rows]))


@contextmanager
def note_pushes(leaderboard: Leaderboard) -> Iterator[dict[int, float]]:
    """Note when control pushes each state, as the fast store passes it on, in a thread."""
    pushed_at: dict[int, float] = {}
    layer: Any = get_channel_layer()
    client: Any = Redis.from_url(settings.FAST_REDIS_URL)

    def note(message: dict[str, Any]) -> None:
        now = time()
        delta = json.loads(layer.deserialize(message["data"])["text"])
        pushed_at.setdefault(delta["sequence"], now)

    with closing(client), closing(client.pubsub()) as listener:
        listener.subscribe(**{f"asgi__group__{broadcast.group(leaderboard.pk)}": note})
        thread = listener.run_in_thread(sleep_time=POLL_S, daemon=True)
        try:
            yield pushed_at
        finally:
            thread.stop()
            thread.join()
