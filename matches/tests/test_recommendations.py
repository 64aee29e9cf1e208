"""Who is recommended over HTTP: an opponent, a teacher, why, and what is refused."""

from typing import Any

import pytest
from django.test import Client

from arena.ratings.base import Z95
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint, Leaderboard, Rating
from matches.ratings import recommendations
from matches.ratings.recommendations import RecommendationRequest, recommend, recommend_near
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/recommendations/"


def _rated(board: Leaderboard, name: str, mu: float, sd: float = 1.0, **columns: Any) -> Rating:
    agent = Agent.objects.create(name=name, game=board.game, policy="random", **columns)
    ends = {"low": mu - (Z95 - 0.5) * sd, "high": mu + (Z95 + 0.5) * sd}
    # Of the doubt that bears on ranks alone nothing is told here.
    return Rating.objects.create(
        leaderboard=board, agent=agent, mu=mu, sd=sd / 3, n_matches=90, **ends
    )


@pytest.fixture
def board() -> Leaderboard:
    """Return a board of five agents."""
    board = Leaderboard.objects.create(name="four", game="connect_four", n_counted=90)
    for name, mu in (("low", 20.0), ("own", 25.0), ("near", 26.0), ("beta", 29.5), ("top", 45.0)):
        _rated(board, name, mu)
    return board


@pytest.fixture
def walks() -> Leaderboard:
    """Return a board of a game of one seat."""
    board = Leaderboard.objects.create(name="walks", game="dice_walk", n_counted=90)
    for name, mean in (("own", 10.0), ("near", 10.5), ("next", 14.0), ("far", 90.0)):
        rating = _rated(board, name, 25.0)
        ends = {"mean_score": mean, "score_low": mean - 1, "score_high": mean + 1}
        Rating.objects.filter(pk=rating.pk).update(**ends)
    return board


def _names(**wish: Any) -> list[str]:
    return [one.rating.agent.name for one in recommend(RecommendationRequest(**wish)).chosen]


def _own(board: Leaderboard) -> int:
    return Agent.objects.get(game=board.game, name="own").pk


def test_an_opponent_is_about_as_strong_and_a_teacher_in_reach(board: Leaderboard) -> None:
    own = {"game": "connect_four", "agent": _own(board)}
    assert _names(**own) == ["near", "beta", "low"]
    assert _names(**own, purpose="teacher") == ["beta"]
    assert _names(game="connect_four", rating=44.5) == ["top", "beta", "near"]


def test_scores_are_compared_in_a_game_of_one_seat(walks: Leaderboard) -> None:
    own = {"game": "dice_walk", "agent": _own(walks)}
    assert _names(**own) == ["near", "next", "far"]
    assert _names(**own, purpose="teacher") == ["next", "far"]
    assert _names(game="dice_walk", rating=80.0, limit=1) == ["far"]
    assert Rating.objects.filter(agent__name="near").update(score_low=None, score_high=None)
    assert _names(**own) == ["next", "far"]


def test_of_many_agents_of_a_game_of_one_seat_those_next_by_rating_are_looked_at(
    walks: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recommendations, "N_NEAREST", 1)
    for place, name in enumerate(("near", "next", "far"), 1):
        Rating.objects.filter(agent__name=name).update(mu=25.0 + 2 * place)
    assert _names(game="dice_walk", agent=_own(walks)) == ["near"]
    assert _names(game="dice_walk", agent=_own(walks), purpose="teacher") == []
    assert _names(game="dice_walk", rating=80.0) == ["far", "next"]


def test_who_may_not_play_is_not_recommended(board: Leaderboard) -> None:
    Agent.objects.filter(name="near").update(is_retired=True)
    Agent.objects.filter(name="low").update(quarantined_at=NOW)
    refused = Checkpoint.objects.create(
        sha256="a" * 64, game=board.game, n_bytes=1, state="refused", created_at=NOW
    )
    Agent.objects.filter(name="top").update(checkpoint=refused)
    assert _names(game="connect_four", agent=_own(board)) == ["beta"]


def test_the_board_on_which_it_played_most_is_read_unless_one_is_named(board: Leaderboard) -> None:
    other = Leaderboard.objects.create(name="other", game="connect_four", n_counted=5)
    own = Agent.objects.get(name="own")
    Rating.objects.create(leaderboard=other, agent=own, mu=45.0, sd=1.0, n_matches=5)
    _rated(other, "stranger", 45.0)
    wish = {"game": "connect_four", "agent": own.pk}
    assert recommend(RecommendationRequest(**wish)).board == board  # type: ignore[arg-type]
    assert _names(**wish, leaderboard="other") == ["stranger"]


def test_agents_of_a_large_board_are_not_all_read(
    board: Leaderboard, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(recommendations, "N_NEAREST", 1)
    rating = Rating.objects.select_related("leaderboard").get(agent__name="own")
    with django_assert_num_queries(2):
        recommendation = recommend_near(rating, "opponent", limit=5)
    assert [one.rating.agent.name for one in recommendation.chosen] == ["near", "low"]


def test_a_teacher_is_looked_for_where_teachers_are(
    board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recommendations, "N_NEAREST", 1)
    for place in range(3):
        _rated(board, f"equal {place}", 25.1)
    assert _names(game="connect_four", agent=_own(board), purpose="teacher") == ["beta"]


def test_that_nobody_fits_is_said(board: Leaderboard) -> None:
    top = Agent.objects.get(name="top").pk
    recommendation = recommend(RecommendationRequest("connect_four", agent=top, purpose="teacher"))
    assert recommendation.none == (
        "nobody near on four is stronger with a probability of 95\N{NO-BREAK SPACE}% "
        "and leaves at least 10\N{NO-BREAK SPACE}% of the points"
    )
    Rating.objects.exclude(agent=top).update(n_matches=0)
    assert (
        "let agents play there" in recommend(RecommendationRequest("connect_four", agent=top)).none
    )
    Rating.objects.update(n_matches=0)
    rating = Rating.objects.select_related("leaderboard").get(agent=top)
    with pytest.raises(BadInputError, match="nothing is known of it on four"):
        recommend_near(rating, "opponent", limit=1)


def test_it_answers_with_numbers_and_a_reason(board: Leaderboard) -> None:
    query: dict[str, Any] = {"game": "connect_four", "agent": _own(board), "limit": 1}
    answer = Client().get(ADDRESS, query).json()
    assert (answer["leaderboard"], answer["measure"]) == ("four", "rating")
    assert answer["own"]["value"] == 25.0
    (one,) = answer["recommended"]
    assert one["agent"]["name"] == "near"
    assert one["strength"] == {"value": 26, "low": 26.5 - Z95, "high": 26.5 + Z95}
    assert 0.4 < one["meeting"]["share"] < 0.5
    assert one["meeting"]["share_low"] < one["meeting"]["share"] < one["meeting"]["share_high"]
    assert one["why"].startswith(
        "about 43\N{NO-BREAK SPACE}% of the points can be won against it ("
    )
    assert "its rating is 1.00 higher (-1.77 to +3.77)" in one["why"]
    assert one["why"].endswith("P(it is the stronger) is 76\N{NO-BREAK SPACE}%")
    assert "TrueSkill" in answer["rule"]


def test_a_score_is_given_its_reason_too(walks: Leaderboard) -> None:
    query: dict[str, Any] = {"game": "dice_walk", "rating": "10", "purpose": "teacher", "limit": 1}
    answer = Client().get(ADDRESS, query).json()
    assert answer["measure"] == "mean_score"
    (one,) = answer["recommended"]
    assert one["meeting"]["share"] is None
    assert one["why"] == (
        "its mean score is 4.0 above (+3.0 to +5.0); "
        "P(it is the stronger) is >99.9\N{NO-BREAK SPACE}%"
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"rating": 1}, "game"),
        ({"game": "no_such_game", "rating": 1}, "game"),
        ({"game": "chess", "rating": 1}, "game"),  # none of its boards counts anything
        ({"game": "connect_four"}, "agent"),
        ({"game": "connect_four", "agent": 1, "rating": 1}, "agent"),
        ({"game": "connect_four", "agent": 10**9}, "agent"),
        ({"game": "connect_four", "agent": 10**30}, "agent"),
        ({"game": "connect_four", "agent": "own"}, "agent"),
        ({"game": "connect_four", "rating": "nan"}, "rating"),
        ({"game": "connect_four", "rating": "inf"}, "rating"),
        ({"game": "connect_four", "rating": "1e300"}, "rating"),
        ({"game": "connect_four", "rating": 1, "purpose": "friend"}, "purpose"),
        ({"game": "connect_four", "rating": 1, "limit": 0}, "limit"),
        ({"game": "connect_four", "rating": 1, "leaderboard": "walks"}, "leaderboard"),
        ({"game": "connect_four", "rating": 1, "leaderboard": "nowhere"}, "leaderboard"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_with_its_field(
    board: Leaderboard, walks: Leaderboard, query: dict[str, Any], field: str
) -> None:
    answer = Client().get(ADDRESS, query)
    assert answer.status_code == 400, answer.content
    assert [one["field"] for one in answer.json()["errors"]] == [field]


def test_an_agent_of_another_game_or_without_a_rating_is_refused(
    board: Leaderboard, walks: Leaderboard
) -> None:
    wish: dict[str, Any] = {"game": "connect_four", "agent": _own(walks)}
    assert "own plays dice_walk, not connect_four" in str(Client().get(ADDRESS, wish).json())
    Rating.objects.update(n_matches=0)
    wish["agent"] = _own(board)
    assert "own is not rated yet" in str(Client().get(ADDRESS, wish).json())


@pytest.mark.parametrize("wrong", [{"purpose": "friend"}, {"limit": 0}, {"rating": float("nan")}])
def test_the_service_refuses_what_a_form_would(board: Leaderboard, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInputError):
        recommend(RecommendationRequest("connect_four", **{"rating": 1.0, **wrong}))
