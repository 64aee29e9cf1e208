"""Strength against training step: what is drawn, where, and what it costs to read."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Literal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.artifacts.agents import register_spelled_agent
from matches.ledger.tournaments import enter_agents, open_leaderboard
from matches.models import Agent, Checkpoint, Leaderboard, Rating
from matches.ratings import standings
from matches.tests.factories import NOW
from pages.plots import charts, checkpoints, strength
from pages.plots.steps import N_STEP_TICKS

pytestmark = pytest.mark.django_db

ENDS: tuple[Literal["mu", "low", "high"], ...] = ("mu", "low", "high")
GEOMETRIC = (0, 64, 128, 256, 512, 1024, 2048, 4096)


def trained(
    board: Leaderboard, steps: Sequence[int | None], *, run: str = "selfplay"
) -> list[Agent]:
    """Enter the checkpoints of a run, each a point of rating better than the one before."""
    agents = []
    for place, step in enumerate(steps):
        checkpoint = Checkpoint.objects.create(
            sha256=sha256(f"{run} {place}".encode()).hexdigest(),
            game=board.game,
            architecture="rescnn",
            run=run,
            step=step,
            n_bytes=1,
            created_at=NOW,
        )
        agent = Agent.objects.create(
            name=f"{run}@{place if step is None else step}",
            game=board.game,
            policy="network",
            checkpoint=checkpoint,
        )
        agents.append(agent)
    enter_agents(board, agents)
    for place, agent in enumerate(agents):
        Rating.objects.filter(agent=agent).update(
            mu=20 + place, sd=0.5, low=19 + place, high=22 + place, n_matches=50
        )
    return agents


@pytest.fixture
def board() -> Leaderboard:
    """Give a leaderboard with two agents that were not trained."""
    opened = open_leaderboard("board", game="connect_four")
    enter_agents(
        opened, [register_spelled_agent(text, game="connect_four") for text in ("random", "greedy")]
    )
    Rating.objects.update(n_matches=10, sd=0.5)
    Rating.objects.filter(agent__name="random").update(mu=15)
    return opened


def test_points_go_right_with_the_step_and_up_with_the_rating(board: Leaderboard) -> None:
    trained(board, GEOMETRIC)
    (plot,) = strength.draw_plots(board.pk)
    assert [point.step for point in plot.points] == list(GEOMETRIC)
    across = [point.x for point in plot.points]
    down = [point.y for point in plot.points]
    assert across == sorted(set(across))
    assert (across[0], across[-1]) == (charts.LEFT, charts.RIGHT)
    assert down == sorted(set(down), reverse=True)
    assert all(p.y_high < p.y < p.y_low for p in plot.points)
    assert all(
        p.y_high >= charts.TOP and p.y_low <= strength.HEIGHT - charts.BOTTOM for p in plot.points
    )
    (series,) = plot.series
    assert len(series.segments) == len(plot.points) - 1


def test_steps_that_double_are_spaced_evenly(board: Leaderboard) -> None:
    trained(board, GEOMETRIC)
    (plot,) = strength.draw_plots(board.pk)
    gaps = [b.x - a.x for a, b in zip(plot.points[2:], plot.points[3:], strict=False)]
    assert max(gaps) - min(gaps) < 0.1


def test_a_step_that_is_missing_changes_no_scale(board: Leaderboard) -> None:
    trained(board, (0, 1_000, 2_000, 4_000, 5_000))
    (plot,) = strength.draw_plots(board.pk)
    across = [point.x for point in plot.points]
    assert across[3] - across[2] == pytest.approx(2 * (across[1] - across[0]), abs=0.1)


def test_steps_that_grow_evenly_are_spaced_evenly(board: Leaderboard) -> None:
    trained(board, range(1_000, 9_000, 1_000))
    (plot,) = strength.draw_plots(board.pk)
    gaps = {round(b.x - a.x, 1) for a, b in zip(plot.points, plot.points[1:], strict=False)}
    assert len(gaps) == 1


@pytest.mark.parametrize(
    "steps",
    [GEOMETRIC, range(1_000, 9_000, 1_000), (0, 1), (7, 8), (0, 10**15), (1, 2, 10**15), (0, 19)],
)
def test_marks_are_round_few_and_apart(board: Leaderboard, steps: Sequence[int]) -> None:
    trained(board, steps)
    (plot,) = strength.draw_plots(board.pk)
    across = [tick.at for tick in plot.steps]
    assert across == sorted(across)
    assert len(across) <= 2 * N_STEP_TICKS + 1
    assert all(charts.LEFT <= at <= charts.RIGHT for at in across)
    assert all(b - a > 5 for a, b in pairwise(across))
    assert len({tick.label for tick in plot.steps}) == len(across)


def test_numbers_are_those_of_the_board(board: Leaderboard) -> None:
    trained(board, GEOMETRIC)
    (plot,) = strength.draw_plots(board.pk)
    rows = {row["agent"]: row for row in standings.load_rows(board.pk)}
    assert all(
        point.row[end] == rows[point.row["agent"]][end] for point in plot.points for end in ENDS
    )


def test_agents_without_a_step_are_lines_to_compare_with(board: Leaderboard) -> None:
    trained(board, GEOMETRIC)
    (plot,) = strength.draw_plots(board.pk, standings.load_rows(board.pk))
    assert [line.row["name"] for line in plot.lines] == ["greedy", "random"]
    assert charts.TOP <= plot.lines[0].at < plot.lines[1].at <= strength.HEIGHT - charts.BOTTOM


def test_names_of_close_lines_do_not_overlap(board: Leaderboard) -> None:
    trained(board, GEOMETRIC)
    Rating.objects.filter(agent__name="random").update(mu=24.99)
    (plot,) = strength.draw_plots(board.pk, standings.load_rows(board.pk))
    assert [line.is_hidden for line in plot.lines] == [False, True]


def test_every_run_has_a_plot_of_its_own_the_longest_first(board: Leaderboard) -> None:
    trained(board, (1, 2), run="short")
    trained(board, GEOMETRIC, run="long")
    assert [plot.run for plot in strength.draw_plots(board.pk)] == ["long", "short"]


def test_there_is_no_plot_of_one_point_or_without_steps(board: Leaderboard) -> None:
    trained(board, (5,), run="one")
    trained(board, (None, None), run="unknown")
    assert strength.draw_plots(board.pk) == []


def test_of_many_checkpoints_some_are_drawn_the_last_and_the_best_among_them(
    board: Leaderboard,
) -> None:
    agents = trained(board, range(0, 3_000, 10))
    Rating.objects.filter(agent=agents[7]).update(mu=900)
    (plot,) = strength.draw_plots(board.pk)
    steps_drawn = [point.step for point in plot.points]
    assert plot.n_all == 300
    assert len(steps_drawn) <= checkpoints.MAX_LISTED + 1
    assert {0, 70, 2990} <= set(steps_drawn)
    assert plot.is_dense


def test_a_checkpoint_is_listed_but_not_drawn_before_its_interval_has_settled(
    board: Leaderboard,
) -> None:
    agents = trained(board, GEOMETRIC)
    Rating.objects.filter(agent=agents[-1]).update(sd=5)
    Rating.objects.filter(agent=agents[0]).update(n_matches=0, sd=25 / 3)
    (plot,) = strength.draw_plots(board.pk, standings.load_rows(board.pk))
    assert [point.step for point in plot.points] == list(GEOMETRIC[1:-1])
    assert [one.step for one in plot.listed] == list(GEOMETRIC[1:])
    # The scale fits what is drawn, so that it is not flat.
    drawn = [point.y_high for point in plot.points] + [point.y_low for point in plot.points]
    assert max(drawn) - min(drawn) > plot.height / 3


def test_two_checkpoints_are_told_and_not_drawn(
    client: Client, broker: Redis, board: Leaderboard
) -> None:
    trained(board, (10, 20))
    (plot,) = strength.draw_plots(board.pk)
    assert plot.is_early
    page = client.get("/leaderboards/board/").content.decode()
    assert "too early to draw" in page
    assert "<circle" not in page
    assert 'id="strength-table-1"' in page
    assert "plot=strength-plot-1" not in page


def test_it_takes_four_queries_however_many_points(board: Leaderboard) -> None:
    trained(board, range(150))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        strength.draw_plots(board.pk)
    assert len(queries) == 4


def test_of_many_runs_only_those_that_are_drawn_are_read(
    board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        trained(board, range(3 + number), run=f"run-{number}")
    read: list[str] = []

    def note(board_id: int, runs: list[str]) -> dict[str, list[checkpoints.Checkpoint]]:
        read.extend(runs)
        return checkpoints.read_checkpoints(board_id, runs)

    monkeypatch.setattr(strength, "read_checkpoints", note)
    plots = strength.draw_plots(board.pk, standings.load_rows(board.pk))
    assert read == [plot.run for plot in plots] == ["run-5", "run-4", "run-3"]
    # Those of runs that are not drawn have a step, too: no lines to compare with.
    assert [line.row["name"] for line in plots[0].lines] == ["greedy", "random"]


def test_checkpoints_of_another_game_are_not_those_of_a_run_here(board: Leaderboard) -> None:
    trained(board, (1, 2, 3))
    elsewhere = open_leaderboard("elsewhere", game="chess")
    trained(elsewhere, (1, 2, 3, 4), run="other")
    (plot,) = strength.draw_plots(board.pk)
    assert (plot.run, plot.n_all) == ("selfplay", 3)
    assert set(checkpoints.read_checkpoints(board.pk, ["selfplay", "other"])) == {"selfplay"}


def test_the_page_draws_it_and_tells_it_as_a_table(
    client: Client, broker: Redis, board: Leaderboard
) -> None:
    agents = trained(board, GEOMETRIC)
    page = client.get("/leaderboards/board/").content.decode()
    assert page.count("<circle") == len(GEOMETRIC)
    for agent in agents:
        assert f'href="/agents/{agent.pk}/" aria-label=' in page
        assert f'id="agent-{agent.pk}"' in page
    assert "<title>selfplay@512, step 512: 24.00, 23.00 to 26.00</title>" in page
    assert '<span data-field="low">23.00</span>' in page


def test_a_board_without_checkpoints_has_no_plot(
    client: Client, broker: Redis, board: Leaderboard
) -> None:
    assert "strength" not in client.get("/leaderboards/board/").content.decode()


def test_the_best_of_a_run_is_told_from_the_best_of_all(board: Leaderboard) -> None:
    trained(board, (10, 20, 30))
    trained(board, (10,), run="alone")
    Rating.objects.update(n_matches=50, sd=1)
    rows = standings.load_rows(board.pk)
    of_run = {row["name"]: row["of_run"] for row in rows if row["of_run"]}
    assert set(of_run) == {"selfplay@10", "selfplay@20", "selfplay@30"}
    shares = [float(text.strip("<> %")) for text in of_run.values()]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    best = {row["name"]: row["best"] for row in rows}
    assert float(best["selfplay@30"].strip("<> %")) < max(shares)
