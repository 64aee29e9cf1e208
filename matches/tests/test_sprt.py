"""Sequential tests: what they will take, by their blocks and by what ratings say of the two."""

import pytest
from redis import Redis

from arena.verdicts.sprt import SequentialTest
from arena.verdicts.sprt_forecast import Gap
from matches.campaigns import forecasting, sprt
from matches.models import Agent, CampaignPoint, Leaderboard
from matches.operations import explain
from matches.plans import CampaignPlan
from matches.ratings import rater
from matches.ratings.evidence import gather_all_evidence
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

PAIR = ("level:40", "level:60")
FIELD = (*PAIR, "level:5", "level:95")


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def pair_of(board: Leaderboard) -> list[int]:
    named = board.rating_set.filter(agent__name__in=PAIR)
    return list(named.order_by("agent__name").values_list("agent_id", flat=True))


def gap_of(board: Leaderboard, pair: list[int]) -> Gap:
    """Return what others' results say of the gap between two agents."""
    return sprt.estimate_gap(gather_all_evidence(board, pair))


def rated_board() -> Leaderboard:
    """Return a leaderboard of four agents that met each other."""
    tournament = factories.planned(240, agents=FIELD)
    boards.play_some(tournament, 240, boards.by_strength(forfeits=0))
    rater.rate(tournament.leaderboard_id, now=later(10))
    return Leaderboard.objects.get(pk=tournament.leaderboard_id)


def test_two_agents_that_nobody_knows_are_as_far_apart_as_any() -> None:
    board = campaign_of("sprt", agents=PAIR).tournament.leaderboard
    gap = gap_of(board, list(Agent.objects.values_list("pk", flat=True)))
    assert gap.mu == 0.0
    assert gap.sd == pytest.approx(Gap().sd)


def test_what_others_know_of_the_two_tells_how_far_apart_they_are() -> None:
    board = rated_board()
    gap = gap_of(board, pair_of(board))
    assert gap.sd < Gap().sd / 3
    turned = gap_of(board, pair_of(board)[::-1])
    assert turned.mu == pytest.approx(-gap.mu)
    assert turned.sd == pytest.approx(gap.sd)


def test_results_of_the_two_are_left_to_the_blocks() -> None:
    tournament = factories.planned(40, agents=PAIR)
    boards.play_some(tournament, 40, boards.by_strength(forfeits=0))
    rater.rate(tournament.leaderboard_id, now=later(10))
    gap = gap_of(tournament.leaderboard, pair_of(tournament.leaderboard))
    assert gap.mu == 0.0
    assert gap.sd == pytest.approx(Gap().sd)


def test_only_those_met_most_often_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    board = rated_board()
    whole = gap_of(board, pair_of(board))
    monkeypatch.setattr(sprt, "MOST_OPPONENTS", 1)
    assert gap_of(board, pair_of(board)).sd > whole.sd


def test_a_forecast_before_the_start_goes_by_what_is_known() -> None:
    board = rated_board()
    agents = [Agent.objects.get(name=name) for name in PAIR]
    plan = CampaignPlan(name="test", question="sprt", max_matches=400, parameters={"elo1": 60.0})
    outlook = forecasting.forecast_start(plan, leaderboard=board, agents=agents, now=later(20))
    assert outlook.n_known > 0
    assert outlook.forecast["more"]["llr_now"] != 0
    assert outlook.forecast["cost"]["core_s"] == pytest.approx(0.02 * outlook.forecast["matches"])


def test_while_it_runs_it_is_foreseen_anew() -> None:
    campaign = campaign_of("sprt", agents=PAIR, parameters={"elo1": 3.0})
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    assert campaign.forecast is not None
    assert campaign.pairs is not None
    assert sum(campaign.pairs) == 8
    first = campaign.forecast
    assert first["matches"] > 0
    assert first["cost"]["wall_s"] > 0
    point = CampaignPoint.objects.get(campaign=campaign)
    assert point.llr == pytest.approx(first["more"]["llr_now"])
    assert point.matches_left == first["matches"]
    next_step = explain.of_campaign(campaign, now=later(5)).next
    assert "a bound needs about" in next_step
    go_on(campaign, 8, boards.by_strength(forfeits=0))
    assert campaign.forecast != first


def test_what_would_take_too_long_is_explained_with_what_would_help() -> None:
    campaign = campaign_of("sprt", agents=PAIR, parameters={"elo1": 3.0})
    campaign.forecast = {"matches": float(forecasting.LIMIT), "low": 1.0, "high": 2.0}
    campaign.forecast_at = later(1)
    campaign.save()
    next_step = explain.of_campaign(campaign, now=later(5)).next
    assert "ask again with bounds further apart" in next_step


def test_the_blocks_up_to_its_bound_stay_with_the_verdict() -> None:
    campaign = ended(campaign_of("sprt", agents=("level:5", "level:95"), parameters={"elo1": 100}))
    assert campaign.pairs is not None
    assert campaign.n_played is not None
    assert 0 < 2 * sum(campaign.pairs) <= campaign.n_played
    state = SequentialTest(0, 100).state(campaign.pairs)
    assert state.llr <= state.lower


def test_before_the_start_a_pairing_that_suits_the_field_badly_is_said() -> None:
    field = ("level:49", "level:50", "level:51")
    tournament = factories.planned(60, agents=field)
    boards.play_some(tournament, 60, factories.first_wins)
    rater.rate(tournament.leaderboard_id, now=later(10))
    board = Leaderboard.objects.get(pk=tournament.leaderboard_id)
    agents = list(Agent.objects.order_by("pk"))
    warnings = {
        pairing: forecasting.forecast_start(
            CampaignPlan(name="best", question="best", max_matches=400, pairing=pairing),
            leaderboard=board,
            agents=agents,
            now=later(20),
        ).warning
        for pairing in ("quality", "order_information", "")
    }
    assert "This field is close" in (warnings.pop("quality") or "")
    assert set(warnings.values()) == {None}
