"""Datasets of matches: decisions of chosen agents, against chosen ones, with chosen results."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from redis import Redis

from experience.datasets.building import build_datasets
from experience.datasets.manifests import build_manifest
from experience.datasets.queries import NewDataset
from experience.datasets.starting import begin_dataset
from experience.datasets.trajectories import SeatFilter, name_result
from experience.models import Dataset
from experience.tests.made import ACTOR
from experience.tests.test_datasets import built, rows_of
from matches.errors import BadInputError
from matches.models import Agent, Match, Outcome, Rating, Tournament, TrajectoryPiece
from matches.store import blobs
from matches.tests import factories as make
from matches.tests import pieces

pytestmark = pytest.mark.django_db
LEVELS = ("level:10", "level:50", "level:90")


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament whose matches are all played: seats take one decision each."""
    make.alive()
    tournament = make.planned(12, agents=LEVELS, keeps_trajectories=True, trajectory_days=1)
    pieces.play(tournament)
    return tournament


def begun(name: str = "best", **query: Any) -> Dataset:
    new = NewDataset(name, "skill_game", source="trajectories", **query)
    return begin_dataset(new, actor=ACTOR, now=make.later(0))


def decisions(dataset: Dataset) -> list[int]:
    """Return the actions, which are the levels of who decided."""
    return [int(action) for rows in rows_of(dataset) for action in rows.actions]


def test_without_a_choice_every_decision_is_taken(played: Tournament) -> None:
    dataset = built(begun(shard_steps=10))
    assert (dataset.state, dataset.n_episodes, dataset.n_steps) == ("ready", 12, 24)
    assert [shard.n_episodes for shard in dataset.shards.all()] == [5, 5, 2]
    (rows, *_) = rows_of(dataset)
    assert rows.episodes.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert rows.seats.tolist() == [0, 1] * 5
    assert rows.terminated.all()
    assert build_manifest(dataset)["query"]["agents"] == []


def test_agents_opponents_and_results_choose_seats(played: Tournament) -> None:
    assert set(decisions(built(begun(agents=("level:90",))))) == {90}
    against = built(begun("against", agents=("level:90",), opponents=("level:10",)))
    assert 0 < against.n_steps < 8
    wins, losses = (built(begun(name, results=(name,))) for name in ("win", "loss"))
    assert wins.n_steps + losses.n_steps == 24
    assert np.mean(decisions(wins)) > np.mean(decisions(losses))


def test_the_best_of_a_board_are_those_of_today(played: Tournament) -> None:
    for level, mu in zip(LEVELS, (30.0, 20.0, 25.0), strict=True):
        agent = Agent.objects.get(name=level)
        Rating.objects.update_or_create(
            leaderboard=played.leaderboard, agent=agent,
            defaults={"mu": mu, "sigma": 1.0, "n_matches": 5},
        )  # fmt: skip
    dataset = begun(top=2, leaderboard=played.leaderboard.name)
    Rating.objects.update(mu=0.0)
    assert set(decisions(built(dataset))) == {10, 90}
    assert build_manifest(dataset)["query"]["agents"] == ["level:10", "level:90"]


def test_matches_of_a_time_or_a_tournament(played: Tournament) -> None:
    late = list(Match.objects.order_by("pk").values_list("pk", flat=True)[9:])
    Outcome.objects.filter(match__in=late).update(recorded_at=make.later(10**6))
    assert built(begun(since=make.later(10**6))).n_episodes == 3
    assert built(begun("early", until=make.later(10**6))).n_episodes == 9
    assert built(begun("own", tournaments=(played.pk,))).n_episodes == 12
    none = built(begun("none", tournaments=(played.pk + 1,)))
    assert (none.state, none.problem) == ("failed", "nothing fits it")


def test_pieces_are_kept_until_the_dataset_is_ready(played: Tournament) -> None:
    before = TrajectoryPiece.objects.latest("expires_at").expires_at
    begun()
    # Planned, and not yet built.
    build_datasets(now=make.later(0), clock_s=iter([0, 0, 9]).__next__)
    after = TrajectoryPiece.objects.earliest("expires_at").expires_at
    assert before is not None
    assert after is not None
    assert after - before >= timedelta(days=5)


def test_a_piece_that_is_gone_or_another_fails_the_dataset(played: Tournament) -> None:
    for piece in TrajectoryPiece.objects.all():
        blobs.delete_file(piece.path, storage="trajectories")
    assert "are gone: pieces are deleted after 1 days" in built(begun()).problem


def test_actions_that_are_not_those_of_the_outcome_fail_it(played: Tournament) -> None:
    Outcome.objects.update(actions="1 2")
    assert "its actions are not those of the outcome" in built(begun()).problem


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("agents", {"agents": ("level:11",)}),
        ("opponents", {"opponents": ("eve",)}),
        ("leaderboard", {"leaderboard": "nowhere"}),
        ("top", {"top": 3}),
        ("top", {"top": 3, "leaderboard": "board"}),
        ("results", {"results": ("lucky",)}),
        ("users", {"users": ("ann",)}),
    ],
)
def test_a_query_that_cannot_be_is_refused(
    played: Tournament, field: str, query: dict[str, Any]
) -> None:
    Rating.objects.all().delete()
    with pytest.raises(BadInputError) as refused:
        begun(**query)
    assert refused.value.field == field


def test_team_mates_win_together_and_a_shared_place_is_a_draw() -> None:
    assert [name_result(seat, [0, 1, 0, 1]) for seat in range(4)] == ["win", "loss"] * 2
    assert [name_result(seat, [0, 0]) for seat in range(2)] == ["draw", "draw"]
    own = SeatFilter(frozenset({1}), frozenset({1}), frozenset())
    # Against oneself both seats are meant.
    assert own.choose_seats([1, 1], [0, 1]) == [0, 1]
    assert own.choose_seats([1, 2], [0, 1]) == []
