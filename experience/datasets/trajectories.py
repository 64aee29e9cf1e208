"""Datasets of matches: whose decisions, against whom, with which results, and their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
from django.db.models import QuerySet

from arena.errors import ArenaError
from arena.experience import datasets
from arena.trajectories import TrajectorySpec
from experience.datasets.plans import Plan, ShardPlan, cut_shards
from experience.models import Dataset
from matches.artifacts import shards
from matches.artifacts.shards import MAX_PIECES, PLAYED_COLUMNS, PlayedMatch
from matches.errors import BadInputError, GoneError
from matches.models import Agent, Leaderboard, Match, Rating, Tournament, TrajectoryPiece
from matches.models.match import parse_numbers
from matches.store.bulk import among

RESULTS: Final = ("win", "draw", "loss")
KEPT: Final = timedelta(days=7)
"""So long a piece is kept at least once a dataset is to be built from it."""


@dataclass(frozen=True)
class SeatFilter:
    """Which seats of a match are taken; empty: all."""

    agents: frozenset[int]
    opponents: frozenset[int]
    results: frozenset[str]

    def choose_seats(self, lineup: Sequence[int], ranks: Sequence[int]) -> list[int]:
        """Return the seats by what their agents are, whom they met and how it ended."""
        return [
            seat
            for seat, agent in enumerate(lineup)
            if (not self.agents or agent in self.agents)
            and (not self.opponents or self.opponents & {*lineup[:seat], *lineup[seat + 1 :]})
            and (not self.results or name_result(seat, ranks) in self.results)
        ]


def name_result(seat: int, ranks: Sequence[int]) -> str:
    """Return how a match ended for a seat; all equal is a draw, first is a win."""
    if len(set(ranks)) == 1:
        return "draw"
    return "win" if ranks[seat] == min(ranks) else "loss"


def resolve_agents(game: str, names: Sequence[str], *, field: str) -> list[int]:
    """Return the keys of agents. Raises BadInputError."""
    agents = dict(Agent.objects.filter(game=game, name__in=names).values_list("name", "pk"))
    if unknown := sorted(set(names) - agents.keys()):
        raise BadInputError(field, f"there is no agent {unknown[0]!r} of {game}")
    return sorted(agents.values())


def resolve_top(board: Leaderboard | None, top: int) -> list[int]:
    """Return the keys of the best agents of a board as it stands now. Raises BadInputError."""
    if board is None:
        raise BadInputError("top", "of which leaderboard? name it in leaderboard")
    rated = Rating.objects.filter(leaderboard=board, n_matches__gt=0).order_by("-mu", "agent_id")
    best = list(rated.values_list("agent_id", flat=True)[:top])
    if not best:
        raise BadInputError("top", f"nobody is rated on {board.name} yet")
    return best


def plan_shards(dataset: Dataset, *, now: datetime) -> list[ShardPlan]:
    """Return the plans of all shards; the pieces that they need are kept for a while."""
    plans = list(
        cut_shards(
            _list_matches(dataset),
            shard_steps=dataset.shard_steps,
            most_steps=dataset.query["most_steps"],
        )
    )
    for shard in plans:
        _keep_pieces([match for match, *_ in shard.plan], now=now)
    return plans


def read_tables(plan: Plan, form: TrajectorySpec, *, first_episode: int) -> list[pa.Table]:
    """Return the rows of a plan. Raises GoneError where a piece of it is gone."""
    match_ids = [match for match, *_ in plan]
    match_rows = Match.objects.filter(pk__in=among(match_ids)).values_list(
        "tournament_id", *PLAYED_COLUMNS
    )
    matches = {row[1]: (row[0], PlayedMatch(*row[1:])) for row in match_rows}
    tournaments = Tournament.objects.in_bulk({number for number, _ in matches.values()})
    names = dict(_agents_of(played for _, played in matches.values()))
    open_piece = lru_cache(MAX_PIECES)(
        lambda number, digest: shards.read_piece(tournaments[number], form, digest)
    )
    tables = []
    for episode, (pk, *seats) in enumerate(plan, first_episode):
        number, played = matches[pk]
        rows = open_piece(number, played.trajectory).get(pk)
        if rows is None:
            raise GoneError(f"the trajectories of match {pk} are not in {played.trajectory:.12}")
        try:
            shards.check_rows(rows, played)
        except ArenaError as error:
            raise GoneError(f"the trajectories of match {pk}: {error}") from error
        lineup = parse_numbers(played.lineup)
        players = {seat: names[lineup[seat]] for seat in seats}
        tables.append(datasets.convert_match(rows, form, number=episode, players=players))
    return tables


def _list_matches(dataset: Dataset) -> Iterator[tuple[Plan, int]]:
    query = dataset.query
    chosen = SeatFilter(
        *(frozenset(query[name]) for name in ("agent_keys", "opponent_keys", "results"))
    )
    columns = ("pk", "lineup", "outcome__ranks", "outcome__actions")
    for pk, lineup, ranks, actions in _filter_matches(dataset).values_list(*columns).iterator():
        in_seats = parse_numbers(lineup)
        if seats := chosen.choose_seats(in_seats, parse_numbers(ranks)):
            # About: who moved is known once the piece is read.
            n_steps = max(1, len(actions.split()) * len(seats) // len(in_seats))
            yield [[pk, *seats]], n_steps


def _filter_matches(dataset: Dataset) -> "QuerySet[Match]":
    query = dataset.query
    # Of a game with other parameters the columns may be others.
    tournaments = Tournament.objects.filter(
        keeps_trajectories=True, leaderboard__game=dataset.game, leaderboard__game_parameters={}
    )
    if query["leaderboard"]:
        tournaments = tournaments.filter(leaderboard__name=query["leaderboard"])
    if query["tournaments"]:
        tournaments = tournaments.filter(pk__in=query["tournaments"])
    matches = Match.objects.filter(tournament__in=tournaments, outcome__trajectory__gt="")
    if query["since"]:
        matches = matches.filter(outcome__recorded_at__gte=query["since"])
    if query["until"]:
        matches = matches.filter(outcome__recorded_at__lt=query["until"])
    return matches.order_by("pk")


def _keep_pieces(matches: Sequence[int], *, now: datetime) -> None:
    hashes = Match.objects.filter(pk__in=among(matches)).values("outcome__trajectory")
    tournaments = Match.objects.filter(pk__in=among(matches)).values("tournament")
    TrajectoryPiece.objects.filter(
        tournament__in=tournaments, sha256__in=hashes, expires_at__lt=now + KEPT
    ).update(expires_at=now + KEPT)


def _agents_of(played: Any) -> Any:
    keys = {agent for match in played for agent in parse_numbers(match.lineup)}
    return Agent.objects.filter(pk__in=among(sorted(keys))).values_list("pk", "name")
