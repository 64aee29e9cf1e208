"""Games that are known: not played again, counted once, and gone when the first one is struck."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.errors import BadInputError
from matches.ledger import planning, reuse, voiding
from matches.ledger.known_ahead import count_known_ahead
from matches.ledger.tournaments import cancel_tournament, open_leaderboard, schedule_tournament
from matches.models import Leaderboard, Match, Outcome, PairCount, Rating, Tournament, Uncounted
from matches.plans import TournamentPlan
from matches.ratings import rater, rerating
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence
from matches.store.auditing import Actor
from matches.tests import boards, callers, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db(transaction=True)

ACTOR = Actor("tester")
N = 24


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def again(first: Tournament, *, board: Leaderboard | None = None, **plan: Any) -> Tournament:
    """Return a tournament of the same agents, planned as far as it goes."""
    options = {"n_matches": first.n_matches, "seed": first.seed, **plan}
    second = schedule_tournament(
        TournamentPlan(name="again", **options),
        leaderboard=board or first.leaderboard,
        agents=list(first.agents.order_by("entrant__position")),
    )
    planning.plan_tournament(second, now=later(10))
    second.refresh_from_db()
    return second


def played(name: str = "board", **plan: Any) -> Tournament:
    tournament = factories.planned(N, board=name, **plan)
    return over(tournament)


def over(tournament: Tournament, *, seconds: float = 0) -> Tournament:
    """Play all that is open, and rate."""
    if Match.objects.filter(Match.is_open(), tournament=tournament).exists():
        boards.play_some(tournament, 10_000, by_seed, now=later(seconds))
    rater.rate(tournament.leaderboard_id, now=later(seconds + 1))
    tournament.refresh_from_db()
    return tournament


def by_seed(row: MatchOrderRow) -> ResultRow:
    """Return the result that the seed and the agents in their seats bring, every time."""
    match = Match.objects.get(pk=row.match)
    ranks = ([0, 1], [1, 0], [0, 0])[(match.game_seed + match.agent_ids[0]) % 3]
    return factories.result(row, ranks=ranks)


def ratings(board: Leaderboard) -> list[tuple[object, ...]]:
    columns = ("agent", "mu", "sd", "live_mu", "live_sigma", "n_matches", "n_wins", "n_draws")
    return list(Rating.objects.filter(leaderboard=board).order_by("agent").values_list(*columns))


def n_known(tournament: Tournament) -> tuple[int, int]:
    return gather_all_evidence(tournament.leaderboard, entrants_of(tournament)).known


def test_the_same_tournament_again_plays_nothing_and_changes_no_rating() -> None:
    first = played()
    before = ratings(first.leaderboard)
    second = again(first)
    assert (second.state, second.n_done, second.n_known) == (Tournament.State.DONE, N, N)
    assert not Uncounted.objects.filter(match__tournament=second).exists()
    over(second, seconds=20)
    assert ratings(first.leaderboard) == before
    assert n_known(second) == (N, 0)
    outcomes = [
        list(Outcome.objects.filter(match__tournament=of).order_by("match").values_list("ranks"))
        for of in (first, second)
    ]
    assert outcomes[0] == outcomes[1]


def test_a_link_names_the_first_match_of_several() -> None:
    first = played()
    again(first)
    third = again(first)
    firsts = Match.objects.filter(tournament=third).values_list("same_as__tournament", flat=True)
    assert set(firsts) == {first.pk}


def test_only_what_is_known_is_not_played() -> None:
    first = played()
    second = again(first, n_matches=N + 12)
    assert (second.n_done, second.n_known, second.state) == (N, N, Tournament.State.RUNNING)
    over(second, seconds=20)
    assert (second.n_done, second.state) == (N + 12, Tournament.State.DONE)
    assert n_known(second) == (N + 12, 0)


@pytest.mark.parametrize(
    "terms", [{"seed": 5}, {"move_s": 3.0}, {"match_s": 7.0}, {"faults": {"error_rate": 0.0}}]
)
def test_other_games_and_terms_are_played(terms: dict[str, Any]) -> None:
    assert again(played(), **terms).n_known == 0


def test_other_rules_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    first = played()
    monkeypatch.setattr(planning, "derive", lambda *scope: planning_derive(*scope, "version 2"))
    assert again(first).n_known == 0


def planning_derive(*scope: object) -> int:
    return abs(hash(scope)) >> 8


def test_a_tournament_that_keeps_trajectories_is_played() -> None:
    assert again(played(), keeps_trajectories=True).n_known == 0


def test_an_agent_that_decides_otherwise_each_time_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reuse, "is_repeatable", lambda kind: kind != "level")
    assert again(played()).n_known == 0


def test_a_forfeit_by_time_is_played_again_and_one_by_the_rules_is_not() -> None:
    first = factories.planned(N)

    def play(row: MatchOrderRow) -> ResultRow:
        reason = Reason.TIMEOUT if row.match % 2 else Reason.ILLEGAL
        return factories.result(row, ending=Ending.FORFEIT, reason=reason, seat=0)

    boards.play_some(first, N, play)
    boards.play_some(first, N, play) if first.n_done else None
    first.refresh_from_db()
    timed_out = Outcome.objects.filter(reason=Reason.TIMEOUT.value).count()
    assert 0 < timed_out < N
    assert again(first).n_known == first.n_done - timed_out


def test_on_another_board_it_counts_there_and_is_known_once() -> None:
    first = played("one")
    second = again(first, board=open_leaderboard("two", game="skill_game"))
    assert (second.n_known, second.state) == (N, Tournament.State.DONE)
    over(second, seconds=20)
    mine, other = ratings(first.leaderboard), ratings(second.leaderboard)
    assert mine == other
    for tournament, elsewhere in ((first, 0), (second, N)):
        assert n_known(tournament) == (N, elsewhere)


def test_counted_again_from_all_outcomes_nothing_differs() -> None:
    first = played("one")
    second = again(first, board=open_leaderboard("two", game="skill_game"))
    again(first)
    over(second, seconds=20)
    for board in Leaderboard.objects.all():
        difference = rerating.rerate(board, now=later(60))
        assert difference is not None
        assert difference.is_none
    assert n_known(second) == (N, N)


def test_a_match_that_is_struck_takes_its_copies_along() -> None:
    first = played("one")
    second = again(first, board=open_leaderboard("two", game="skill_game"))
    third = again(first)
    over(second, seconds=20)
    struck = Match.objects.filter(tournament=first).order_by("pk")[0]
    voided = voiding.void_matches([struck.pk], actor=ACTOR, reason="a bad node", now=later(30))
    assert (voided.n_struck, sorted(voided.leaderboards)) == (3, ["one", "two"])
    rerating.rerate_due(now=later(40))
    for tournament in (first, second, third):
        assert n_known(tournament)[0] == N - 1
        tournament.refresh_from_db()
        assert tournament.n_done == N - 1


def test_two_that_run_at_the_same_time_count_once() -> None:
    first = factories.planned(N)
    second = again(first)
    assert second.n_known == 0
    over(first)
    over(second, seconds=20)
    assert (first.n_done, second.n_done, n_known(first)) == (N, N, (N, 0))
    assert first.leaderboard.rating_set.get(agent=entrants_of(first)[0]).n_matches == N * 2 // 3
    assert Match.objects.filter(tournament=second, same_as__tournament=first).count() == N


def test_what_is_replayed_on_purpose_is_played_and_counts_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = played()
    before = ratings(first.leaderboard)
    second = over(again(first, replays=True), seconds=20)
    assert (second.n_done, second.n_known) == (N, 0)
    assert ratings(first.leaderboard) == before
    assert "came out otherwise" not in caplog.text


def test_a_replay_that_comes_out_otherwise_is_counted_and_shown(client: Client) -> None:
    first = played()
    second = again(first, replays=True)
    boards.play_some(second, N, factories.first_wins, now=later(20))
    second.refresh_from_db()
    otherwise = reuse.list_differing_matches(second, N)
    assert 0 < second.n_differing == len(otherwise) < N
    changed, before = otherwise[0]
    assert Outcome.objects.get(pk=changed).ranks != Outcome.objects.get(pk=before).ranks
    assert "Came out otherwise" in client.get(f"/matches/{changed}/").content.decode()
    assert client.get(f"/api/v1/matches/{changed}/").json()["is_differing"] is True
    assert client.get(f"/api/v1/tournaments/{second.pk}/").json()["n_differing"] > 0
    sentence = f"{second.n_differing} matches came out otherwise"
    assert sentence in client.get(f"/tournaments/{second.pk}/").content.decode()
    reported = client.get(f"/api/v1/tournaments/{second.pk}/report/").json()
    assert reported["differing"][0] == {"match": changed, "first": before}
    same = Match.objects.filter(tournament=second).exclude(pk__in=[pk for pk, _ in otherwise])[0]
    assert "Came out otherwise" not in client.get(f"/matches/{same.pk}/").content.decode()


def test_a_match_of_an_earlier_season_is_played() -> None:
    first = played()
    rater.start_over(Leaderboard.objects.get(pk=first.leaderboard_id), now=factories.NOW)
    assert again(first).n_known == 0


def test_a_cancelled_tournament_leaves_what_it_played() -> None:
    first = factories.planned(N)
    boards.play_some(first, 6, by_seed)
    cancel_tournament(first, now=later(5))
    assert again(first).n_known == 6


def test_without_a_twin_nothing_is_looked_up() -> None:
    first = played()
    assert reuse.find_twins(again(first, seed=77), entrants_of(first)) == []
    assert not Tournament.objects.get(seed=77).shares_seed


def test_pairs_are_counted_by_what_is_no_evidence_elsewhere() -> None:
    first = played("one")
    second = over(again(first, board=open_leaderboard("two", game="skill_game")), seconds=20)
    for board, n_copied in ((first.leaderboard, 0), (second.leaderboard, N)):
        counts = PairCount.objects.filter(leaderboard=board).values_list(
            "n_first_wins_copied", "n_draws_copied", "n_second_wins_copied"
        )
        assert sum(map(sum, counts)) == n_copied


def test_the_api_says_what_was_known_and_takes_a_wish_to_replay() -> None:
    first = played()
    client = callers.with_token(callers.token("ada", callers.OPERATOR))
    body = {
        "leaderboard": first.leaderboard.name,
        "agents": entrants_of(first),
        "name": "again",
        "n_matches": N,
        "replays": True,
    }
    made = client.post("/api/v1/tournaments/", body, content_type="application/json").json()
    assert made["replays"] is True
    second = again(first)
    detail = client.get(f"/api/v1/tournaments/{second.pk}/").json()
    assert (detail["n_known"], detail["n_done"], detail["state"], detail["replays"]) == (
        N,
        N,
        "done",
        False,
    )
    match = Match.objects.filter(tournament=second).order_by("pk")[0]
    match_detail = client.get(f"/api/v1/matches/{match.pk}/").json()
    assert match_detail["same_as"] == match.same_as_id
    assert match_detail["attempts"] == []
    page = client.get(f"/matches/{match.pk}/").content.decode()
    assert "not played again" in page
    assert f"{N} not played again" in client.get(f"/tournaments/{second.pk}/").content.decode()


def test_how_much_is_known_is_told_before_it_starts() -> None:
    first = played("known-ahead")
    agents = list(first.agents.order_by("entrant__position"))

    def count(**changes: Any) -> int:
        plan = TournamentPlan(name="next", **{"n_matches": 2 * N, "seed": first.seed, **changes})
        return count_known_ahead(plan, leaderboard=first.leaderboard, agents=agents)

    assert count() == N
    assert count(n_matches=6) == 6
    assert count(seed=first.seed + 1) == 0
    assert count(replays=True) == 0
    assert count(pairing="swiss") == 0
    with pytest.raises(BadInputError, match="Knockout"):
        count(pairing="knockout", n_matches=2)
    assert again(first, n_matches=2 * N).n_known == N
