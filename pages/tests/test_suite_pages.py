"""The page of a suite: of each task its agents, and how far one of them is ahead of each other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import unescape
from math import sqrt
from statistics import fmean, stdev

import msgspec
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from arena.games import registry as games
from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from arena.seeding import derive
from matches.models import Agent, Checkpoint, Leaderboard, Match, Score, Tournament
from matches.ratings import rater, score_leads
from matches.ratings.score_leads import read_leads
from matches.tests import boards, factories
from matches.tests.factories import NOW
from pages import lead_table
from pages.downloads.markup import DASH
from pages.tests.reading import count_page_steps

pytestmark = pytest.mark.django_db
PAGE = "/suites/llmserve/"
STATIC, BURSTY = "llmserve_static_workload", "llmserve_bursty_workload"
STRENGTHS = {"strong": 0.5, "even": 0.5, "weak": 0.2}


def _enter(game: str, names: Mapping[str, float]) -> list[Agent]:
    return [
        Agent.objects.get_or_create(game=game, name=name, defaults={"policy": "random"})[0]
        for name in names
    ]


def _read_agent(row: MatchOrderRow) -> Agent:
    return Match.objects.get(pk=row.match).seat_rows.get().agent


def _score_by(strengths: Mapping[str, float]) -> Callable[[MatchOrderRow], ResultRow]:
    """Return results that depend on the seed, a little on the agent's luck, and on its strength."""

    def play(row: MatchOrderRow) -> ResultRow:
        agent = _read_agent(row)
        luck = derive("luck", row.game_seed, agent.pk) % 100 / 2_000
        score = strengths[agent.name] + derive("seed", row.game_seed) % 100 / 500 + luck
        return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=[score])

    return play


def _play(
    game: str = STATIC,
    strengths: Mapping[str, float] = STRENGTHS,
    *,
    board: str = "tasks",
    n_seeds: int = 12,
) -> Tournament:
    n = n_seeds * len(strengths)
    planned = factories.planned(n, game=game, board=board, agents=_enter(game, strengths))
    # What is known from another leaderboard is not played again.
    if planned.matches.filter(state=Match.State.PENDING).exists():
        boards.play_some(planned, n, _score_by(strengths))
    rater.rate(planned.leaderboard_id, now=factories.later(1))
    return planned


def _get(client: Client, address: str = PAGE, *, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return " ".join(unescape(answer.content.decode()).split())


def _read_rows(page: str, game: str = STATIC) -> dict[str, list[str]]:
    """Return the cells of a task by the name of the agent."""
    (body,) = re.findall(rf'id="{game}-table".*?<tbody[^>]*>(.*?)</tbody>', page)
    rows = {}
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body):
        name, *cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        rows[re.sub(r"<.*?>", " ", name).split()[0]] = [
            " ".join(re.sub(r"<.*?>", " ", cell).split()) for cell in cells
        ]
    return rows


def _leads(first: str, second: str, **chosen: object) -> list[float]:
    """Return the differences of two agents by seed, one score each."""
    of_first, of_second = (
        dict(Score.objects.filter(agent__name=name, **chosen).values_list("game_seed", "score"))
        for name in (first, second)
    )
    common = of_first.keys() & of_second.keys()
    return [(of_first[seed] or 0.0) - (of_second[seed] or 0.0) for seed in common]


def test_each_agent_is_a_row_with_its_mean_and_the_lead_over_it(
    client: Client, broker: Redis
) -> None:
    board = _play().leaderboard
    rows = _read_rows(_get(client))
    assert set(rows) == set(STRENGTHS)
    chosen, *others = sorted(board.rating_set.all(), key=lambda rating: -(rating.mean_score or 0))
    assert rows[chosen.agent.name][3] == "its lead over the others is shown"
    for other in others:
        mean, _, episodes, lead, error, _, n_seeds, ahead, clearly, _ = rows[other.agent.name]
        leads = _leads(chosen.agent.name, other.agent.name)
        assert float(mean) == pytest.approx(other.mean_score, abs=0.005)
        assert (episodes, n_seeds) == ("12", "12")
        assert float(lead) == pytest.approx(fmean(leads), abs=0.0006)
        assert float(error) == pytest.approx(stdev(leads) / sqrt(12), abs=0.0006)
        for cell, margin in ((ahead, 0.0), (clearly, 0.01)):
            share = sum(lead > margin for lead in leads) / 12
            assert float(cell.split()[0]) == pytest.approx(100 * share, abs=0.06)
    assert rows["weak"][-1] == "yes, ahead"


@pytest.mark.parametrize(("spread", "is_apart"), [(0.16, True), (0.17, False)])
def test_two_are_told_apart_by_more_than_two_standard_errors(
    client: Client, broker: Redis, spread: float, is_apart: bool
) -> None:
    tournament = _play()
    strong, even, _ = tournament.agents.order_by("pk")
    # Leads of 0.1 with a spread: of twelve its standard error is the spread by the root of eleven.
    for place, score in enumerate(Score.objects.filter(agent=even)):
        same = Score.objects.get(agent=strong, game_seed=score.game_seed)
        lead = 0.1 + (spread if place % 2 else -spread)
        Score.objects.filter(pk=score.pk).update(score=(same.score or 0) - lead)
    measured = read_leads(tournament.leaderboard, strong.pk, [even.pk]).by_agent[even.pk]
    assert measured.mean == pytest.approx(0.1)
    assert measured.error == pytest.approx(spread / sqrt(11))
    assert measured.is_apart is is_apart
    row = _read_rows(_get(client, f"{PAGE}?agent={strong.pk}"))["even"]
    assert row[-1] == ("yes, ahead" if is_apart else "no")


def test_few_seeds_tell_nobody_apart(client: Client, broker: Redis) -> None:
    _play()
    weak = Agent.objects.get(name="weak")
    assert _read_rows(_get(client, f"{PAGE}?agent={weak.pk}"))["strong"][-1] == "yes, behind"
    kept = list(Score.objects.filter(agent=weak).values_list("pk", flat=True)[:9])
    Score.objects.filter(agent=weak).exclude(pk__in=kept).delete()
    assert _read_rows(_get(client, f"{PAGE}?agent={weak.pk}"))["strong"][-1] == "too few seeds"


def test_agents_within_the_margin_on_every_seed_are_level_however_sure_their_difference(
    client: Client, broker: Redis
) -> None:
    tournament = _play()
    strong, even, _ = tournament.agents.order_by("pk")
    for score in Score.objects.filter(agent=even):
        same = Score.objects.get(agent=strong, game_seed=score.game_seed)
        Score.objects.filter(pk=score.pk).update(score=(same.score or 0) - 0.001)
    lead = read_leads(tournament.leaderboard, strong.pk, [even.pk]).by_agent[even.pk]
    assert lead.is_apart
    row = _read_rows(_get(client, f"{PAGE}?agent={strong.pk}"))["even"]
    assert (row[3], *row[-3:]) == ("+0.001", "100 %", "0 %", "level")


def test_a_game_without_a_margin_has_no_column_for_it(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _play()
    assert "by over 0.01" in _get(client)
    game = games.get(STATIC)
    monkeypatch.setattr(game, "spec", replace(game.spec, score_margin=0.0))
    page = _get(client)
    assert "by over" not in page
    assert "are a draw" not in page


def test_the_best_checkpoint_is_compared_first_and_without_one_the_best_agent(
    client: Client, broker: Redis
) -> None:
    tournament = _play()
    rated = tournament.leaderboard.rating_set
    best = rated.order_by("-mean_score")[0].agent
    assert f'value="{best.pk}" selected' in _get(client)
    weights = Checkpoint.objects.create(
        sha256="0" * 64, game=STATIC, architecture="mlp", run="ppo", n_bytes=1, created_at=NOW
    )
    weak = Agent.objects.get(name="weak")
    Agent.objects.filter(pk=weak.pk).update(checkpoint=weights)
    assert f'value="{weak.pk}" selected' in _get(client)


def test_each_task_has_its_own_agent_by_number_or_name(client: Client, broker: Redis) -> None:
    _play()
    _play(BURSTY, {"weak": 0.1, "other": 0.4}, board="bursts")
    both = _get(client, f"{PAGE}?agent=weak")
    weak = Agent.objects.filter(name="weak").order_by("pk").values_list("pk", flat=True)
    assert all(f'value="{pk}" selected' in both for pk in weak)
    one = _get(client, f"{PAGE}?agent={weak[0]}&agent=other")
    assert f'value="{weak[0]}" selected' in one
    assert f'value="{weak[1]}" selected' not in one
    assert _get(client, f"{PAGE}?agent=&agent=")


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ("agent=nobody", "no agent of LLMServe is called 'nobody'"),
        ("agent=99999", "no agent of LLMServe is called '99999'"),
        ("agent=walker", "no agent of LLMServe is called 'walker'"),
        ("agent={walker}", "walker plays dice_walk, which is no task of LLMServe"),
        ("agent=idle", "idle has no episode that counts on tasks: choose another"),
        ("agent=weak&agent=even", "two agents are given for LLMServe, static workload"),
        ("agent=a&agent=b&agent=c&agent=d", "at most one agent for each of the 3 tasks, got 4"),
        ("leaderboard=nowhere", "no task of LLMServe has a leaderboard 'nowhere'"),
        ("leaderboard=tasks&leaderboard=later", "two leaderboards are given for LLMServe, static"),
    ],
)
def test_what_cannot_be_compared_is_said_above_the_form(
    client: Client, broker: Redis, query: str, refusal: str
) -> None:
    _play()
    _play(board="later")
    # That of the most episodes is read, of two alike the newer.
    Leaderboard.objects.filter(name="tasks").update(is_pinned=True)
    _enter(STATIC, {"idle": 0})
    (walker,) = _enter("dice_walk", {"walker": 0})
    page = _get(client, f"{PAGE}?{query.format(walker=walker.pk)}", status=400)
    assert f"This cannot be shown: {refusal}" in page
    assert '<select name="agent">' in page
    assert "<table" not in page


def test_another_leaderboard_of_a_task_is_a_link_away(client: Client, broker: Redis) -> None:
    _play()
    _play(strengths={"late": 0.4, "weak": 0.1}, board="later")
    _play(BURSTY, {"weak": 0.1, "other": 0.4}, board="bursts")
    other = Agent.objects.get(name="weak", game=BURSTY)
    page = _get(client, f"{PAGE}?agent={other.pk}")
    assert set(_read_rows(page)) == set(STRENGTHS)
    (link,) = re.findall(rf'href="(\?[^"]*leaderboard=later)#{STATIC}"', page)
    page = _get(client, PAGE + link)
    assert set(_read_rows(page)) == {"late", "weak"}
    assert f'value="{other.pk}" selected' in page, "the choice for the other task stays"
    assert '<input type="hidden" name="leaderboard" value="later">' in page
    Leaderboard.objects.filter(name="tasks").update(is_listed=False)
    assert set(_read_rows(_get(client))) == {"late", "weak"}, "listed ones come first"


def test_scores_lead_to_the_comparison_and_episodes_to_their_drawing(
    client: Client, broker: Redis
) -> None:
    tournament = _play()
    strong, even, weak = tournament.agents.order_by("pk")
    page = _get(client, f"{PAGE}?agent={strong.pk}")
    for other in (even, weak):
        link = f"/compare/{strong.pk}/{other.pk}/?leaderboard=tasks"
        assert f'href="{link}"' in page
        _get(client, link)
        assert f'href="/agents/{other.pk}/">{other.name}</a>' in page
    ranked = Score.objects.filter(agent=strong).order_by("score")
    best, worst = ranked.last(), ranked.first()
    assert best is not None
    assert worst is not None
    assert f'href="/matches/{best.pk}/">the best, {best.score:.3f}</a>' in page
    assert f'href="/matches/{worst.pk}/">the worst, {worst.score:.3f}</a>' in page


def test_a_task_that_nobody_or_one_alone_has_played_says_what_to_do(
    client: Client, broker: Redis
) -> None:
    page = _get(client)
    assert page.count("Nobody has played it yet.") == 3
    assert f"./run evaluate --game {STATIC} --agents random,NAME" in page
    assert "<select" not in page
    tournament = _play(strengths={"alone": 0.3, "idle": 0.1}, n_seeds=1)
    tournament.leaderboard.rating_set.filter(agent__name="idle").update(n_matches=0)
    page = _get(client)
    assert "Nobody else has played it here: let another agent" in page
    assert ">one, 0." in page
    Leaderboard.objects.create(name="empty", game=BURSTY)
    page = _get(client, f"{PAGE}?leaderboard=empty")
    assert 'No episode counts on <a href="/leaderboards/empty/">empty</a> yet.' in page


def test_forfeits_count_as_the_least_score_and_agents_without_common_seeds_stay(
    client: Client, broker: Redis
) -> None:
    def play(row: MatchOrderRow) -> ResultRow:
        if _read_agent(row) == agents[1]:
            return factories.result(row, ending=Ending.FORFEIT, reason=Reason.CRASH, seat=0)
        return _score_by(STRENGTHS)(row)

    agents = _enter(STATIC, STRENGTHS)
    planned = factories.planned(36, game=STATIC, board="tasks", agents=agents)
    boards.play_some(planned, 36, play)
    rater.rate(planned.leaderboard_id, now=factories.later(1))
    strong, forfeiting, apart = agents
    for place, score in enumerate(Score.objects.filter(agent=apart)):
        Score.objects.filter(pk=score.pk).update(game_seed=place)
    rows = _read_rows(_get(client, f"{PAGE}?agent={strong.pk}"))
    mean = fmean(score.score or 0.0 for score in Score.objects.filter(agent=strong))
    assert float(rows["even"][3]) == pytest.approx(mean, abs=0.006)
    assert rows["even"][-3:] == ["100 %", "100 %", "yes, ahead"]
    assert rows["weak"][3:] == [DASH, DASH, "", "0", DASH, DASH, "no common seed"]
    page = _get(client, f"{PAGE}?agent={forfeiting.pk}")
    assert "Its episodes, drawn" not in page, "a forfeit is no episode to look at"
    assert _read_rows(page)["strong"][-1] == "yes, behind"


def test_more_agents_and_matches_cost_no_more_queries(client: Client, broker: Redis) -> None:
    _play(n_seeds=3)
    with CaptureQueriesContext(connection) as few:
        _get(client)
    _play(strengths={f"agent {n}": n / 30 for n in range(15)}, board="more", n_seeds=30)
    with CaptureQueriesContext(connection) as many:
        _get(client)
    assert len(many) == len(few)


def test_more_seeds_than_are_read_cost_nothing(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    monkeypatch.setattr(score_leads, "MOST_ROWS", 30)
    _play(board="few", n_seeds=12)
    _play(board="many", n_seeds=120)
    few, many = (count_page_steps(client, f"{PAGE}?leaderboard={name}") for name in ("few", "many"))
    assert many <= 1.3 * few


def test_what_is_read_is_bounded_and_the_page_says_so(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _play()
    strong, even, weak = tournament.agents.order_by("pk")
    monkeypatch.setattr(score_leads, "MOST_ROWS", 15)
    leads = read_leads(tournament.leaderboard, strong.pk, [even.pk, weak.pk])
    first = Score.objects.filter(agent=strong).order_by("game_seed")[:5]
    assert sorted(leads.own) == [score.game_seed for score in first]
    assert {lead.n_seeds for lead in leads.by_agent.values()} == {5}
    assert "first 5 seeds of strong" in _get(client, f"{PAGE}?agent={strong.pk}")
    monkeypatch.setattr(lead_table, "MOST_AGENTS", 2)
    page = _get(client, f"{PAGE}?agent={weak.pk}")
    assert "agents of the highest rating are shown" in page
    assert set(_read_rows(page)) == set(STRENGTHS), "the one that is asked for is among them"


def test_of_several_episodes_on_a_seed_the_first_in_planned_order_counts(broker: Redis) -> None:
    tournament = _play()
    strong, even, _ = tournament.agents.order_by("pk")
    again = _play(board="again").leaderboard
    copied = Score.objects.filter(leaderboard=again, agent=even)
    copied.update(leaderboard=tournament.leaderboard, sequence=10**6, score=0.0)
    lead = read_leads(tournament.leaderboard, strong.pk, [even.pk]).by_agent[even.pk]
    assert lead.n_seeds == 12
    first = _leads("strong", "even", sequence__lt=10**6, leaderboard=tournament.leaderboard)
    assert lead.mean == pytest.approx(fmean(first))


def test_an_unknown_suite_is_answered_with_those_there_are(client: Client) -> None:
    assert "there is no suite 'ludo': choose among llmserve" in _get(
        client, "/suites/ludo/", status=404
    )


def test_games_lead_to_their_suite(client: Client) -> None:
    link = f'href="{PAGE}"'
    assert link in _get(client, "/games/")
    assert link in _get(client, f"/games/{STATIC}/")
    assert "/suites/" not in _get(client, "/games/connect_four/")


def test_a_leaderboard_of_a_task_leads_to_its_suite(client: Client) -> None:
    Leaderboard.objects.create(name="calm", game=STATIC)
    assert f'href="{PAGE}?leaderboard=calm"' in _get(client, "/leaderboards/calm/")
    _get(client, f"{PAGE}?leaderboard=calm")
    Leaderboard.objects.create(name="four", game="connect_four")
    assert "/suites/" not in _get(client, "/leaderboards/four/")


def test_the_table_is_a_file_too(client: Client, broker: Redis) -> None:
    _play()
    lines = client.get(f"{PAGE}?table={STATIC}-table&format=csv").getvalue().decode().splitlines()
    assert lines[0].startswith("Agent,Mean score,95 % interval,Episodes,Lead over it,±")
    assert len(lines) == 4
