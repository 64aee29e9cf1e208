"""Yardsticks: what each sets, and the same as agents of the platform."""

from collections.abc import Mapping

import pytest

from arena.errors import ParameterError
from arena.games import registry as games
from arena.games.base import OVER
from arena.games.llmserve.agents import (
    Decide,
    Fixed,
    Lookahead,
    Switch,
    decide_by_rules,
    find_choices,
    foresee,
    read_settings,
    tell_settings,
)
from arena.games.llmserve.grading import Grader
from arena.games.llmserve.settings import CHOICES, FIRST, Settings, choose
from arena.games.llmserve.simulator import Server
from arena.games.llmserve.workload import ADVERSARIAL, BURSTY, STATIC, Task
from arena.policies import registry as policies
from arena.policies.base import Row

CALM, CROWDED = Settings(32, 0.6, 4, 1, False, True), Settings(64, 0.6, 1, 1, False, True)
SHORT = Lookahead(1)


def look(**sight: float) -> Server:
    """Return a server of which an operator sees this."""
    server = Server(BURSTY, 1)
    server._sight = server.sight._replace(**sight)
    return server


def score(task: Task, seed: int, decide: Decide) -> float:
    server, grader, last = Server(task, seed), Grader(), FIRST
    while not server.is_over:
        last = choose(find_choices(decide(server, last)))
        grader.add(server.run_window(last))
    return grader.score()


def test_rules_hold_all_there_is_and_halve_it_when_tokens_come_slowly() -> None:
    crowd = {"queue_depth": 30.0, "active_requests": 20.0}
    assert decide_by_rules(look(**crowd), FIRST).batch_cap == 64
    assert decide_by_rules(look(p50_itl_ms=60, **crowd), FIRST).batch_cap == 32
    assert decide_by_rules(look(), FIRST).batch_cap == 8
    assert decide_by_rules(look(queue_depth=9e9), FIRST).batch_cap == 256


def test_rules_grow_the_cache_until_something_is_evicted() -> None:
    assert decide_by_rules(look(), FIRST).kv_budget_fraction == 0.6
    assert decide_by_rules(look(eviction_events=1), FIRST).kv_budget_fraction == 0.4
    full = FIRST._replace(kv_budget_fraction=0.8)
    assert decide_by_rules(look(), full).kv_budget_fraction == 0.8


@pytest.mark.parametrize(
    ("active", "acceptance", "depth"), [(4, 0.7, 4), (4, 0.55, 2), (30, 0.7, 2), (60, 0.7, 0)]
)
def test_rules_draft_for_few_requests_and_good_guesses(
    active: float, acceptance: float, depth: int
) -> None:
    server = look(active_requests=active, spec_acceptance_rate=acceptance)
    assert decide_by_rules(server, FIRST).speculation_depth == depth


def test_rules_leave_fp16_for_good_when_it_is_crowded_and_split_for_long_prompts() -> None:
    fp16 = FIRST._replace(tier=0)
    assert decide_by_rules(look(), fp16).tier == 0
    assert decide_by_rules(look(queue_depth=65), fp16).tier == 1
    assert decide_by_rules(look(kv_cache_occupancy=0.96), fp16).tier == 1
    assert decide_by_rules(look(mean_prompt_length=1_100), fp16).is_split
    assert decide_by_rules(look(queue_depth=9), fp16).is_prioritised


def test_a_switch_stays_until_the_queue_is_half_as_long() -> None:
    switch = Switch(CALM, CROWDED, 10)
    cases = [(9.0, CALM), (10.0, CALM), (6.0, CROWDED), (6.0, CALM), (4.0, CROWDED)]
    decided = [switch.decide(look(queue_depth=queue), last) for queue, last in cases]
    assert decided == [CALM, CROWDED, CROWDED, CALM, CALM]


def test_a_copy_goes_on_by_itself() -> None:
    server = Server(ADVERSARIAL, 3)
    for _ in range(20):
        server.run_window(Settings(8, 0.5, 0, 1, False, False))
    copy = server.fork()
    ahead = [copy.run_window(CALM) for _ in range(5)]
    assert server.n_windows == 20
    assert [server.run_window(CALM) for _ in range(5)] == ahead


@pytest.mark.no_cover
@pytest.mark.parametrize("task", [BURSTY, ADVERSARIAL], ids=lambda task: task.id)
def test_who_knows_what_comes_serves_more_than_by_rules(task: Task) -> None:
    assert score(task, 5, SHORT.decide) > score(task, 5, decide_by_rules)


def test_the_end_of_an_episode_is_foreseen() -> None:
    server = Server(STATIC, 1)
    while server.n_windows < 89:
        server.run_window(CALM)
    ahead = Lookahead(4).decide(server, CALM)
    server.run_window(ahead)
    assert server.is_over


def test_settings_are_read_as_they_are_told() -> None:
    for settings in (CALM, CROWDED, FIRST, Settings(512, 1.0, 8, 2, True, False)):
        assert read_settings(tell_settings(settings)) == settings
    assert tell_settings(CALM) == "32/0.6/4/INT8/together/on"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "32/0.6/3/INT8/together",
        "0/0.6/3/INT8/together/on",
        "32/nan/3/INT8/together/on",
        "32/0.6/9/INT8/together/on",
        "32/0.6/3/INT7/together/on",
        "32/0.6/3/INT8/yes/on",
        "1.5/0.6/3/INT8/together/on",
    ],
)
def test_what_are_no_settings_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"32/0\.6/3/INT8/together/on"):
        read_settings(text)


def test_the_nearest_choices_are_found() -> None:
    for index, choices in enumerate(CHOICES):
        for choice, value in enumerate(choices):
            settings = Settings._make([*FIRST[:index], value, *FIRST[index + 1 :]])
            assert find_choices(settings)[index] == choice
    assert find_choices(FIRST._replace(batch_cap=40))[0] == 5


AGENTS: Mapping[str, tuple[Mapping[str, object], Decide]] = {
    "llmserve_rules": ({}, decide_by_rules),
    "llmserve_fixed": ({"settings": tell_settings(CROWDED)}, Fixed(CROWDED).decide),
    "llmserve_switch": (
        {"calm": tell_settings(CALM), "crowded": tell_settings(CROWDED), "queue_depth": 5.0},
        Switch(CALM, CROWDED, 5.0).decide,
    ),
    "llmserve_lookahead": ({"windows": 1}, SHORT.decide),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("policy", AGENTS)
def test_an_agent_of_the_platform_scores_as_the_loop_does(policy: str) -> None:
    parameters, decide = AGENTS[policy]
    game = games.get("llmserve_bursty_workload")
    agent = policies.get(policy).build(game, parameters)
    state = game.start(11, opening_plies=0)
    while state.to_move() != OVER:
        (action,) = agent.act([Row(state, 0, 11)])
        state.apply(action)
    assert state.returns() == [score(BURSTY, 11, decide)]


def test_an_agent_goes_on_in_the_middle_of_a_window() -> None:
    game = games.get("llmserve_bursty_workload")
    state = game.start(11, opening_plies=0)
    for action in find_choices(CROWDED)[:4]:
        state.apply(action)
    agent = policies.get("llmserve_fixed").build(game, {"settings": tell_settings(CROWDED)})
    assert agent.act([Row(state, 0, 11)]) == [find_choices(CROWDED)[4]]


def test_settings_that_are_no_choices_are_refused_with_the_nearest() -> None:
    kind, game = policies.get("llmserve_fixed"), games.get("llmserve_bursty_workload")
    with pytest.raises(ParameterError, match=r"settings.* the nearest are 32/0\.6/3"):
        kind.build(game, {"settings": "40/0.62/3/INT8/together/on"})
    with pytest.raises(ParameterError, match="BATCH/KV/DEPTH"):
        kind.build(game, {"settings": "fast"})


def test_other_games_are_refused() -> None:
    refusal = policies.get("llmserve_rules").refusal(games.get("connect_four").spec)
    assert refusal == "it sets servers of LLMServe"


def test_lookahead_puts_out_most_tokens_where_all_are_served_anyway() -> None:
    server = Server(STATIC, 1)
    settings = Lookahead().decide(server, FIRST)
    assert foresee(server, settings, 4) == foresee(server, FIRST, 4)
    assert count_tokens(server, settings) > count_tokens(server, FIRST)


def count_tokens(server: Server, settings: Settings) -> float:
    copy = server.fork()
    return sum(copy.run_window(settings).tokens for _ in range(4))
