import math

import pytest
from pydantic import ValidationError

from llmserve_env.models import FIRST_ACTION, ServeAction, ServeObservation, observe, read_sight
from llmserve_env.simulator.settings import FIRST, Settings
from llmserve_env.simulator.simulator import Server
from llmserve_env.simulator.workload import TASKS


def test_what_is_left_out_has_its_default() -> None:
    assert ServeAction().to_settings() == Settings(32, 1.0, 0, 0, False, False)


def test_an_action_is_the_settings_of_the_simulator_and_back() -> None:
    assert FIRST_ACTION.to_settings() == FIRST
    settings = Settings(512, 0.35, 8, 2, True, True)
    assert ServeAction.from_settings(settings).to_settings() == settings


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch_cap", 0),
        ("batch_cap", 513),
        ("batch_cap", 1.5),
        ("batch_cap", "32"),
        ("batch_cap", True),
        ("batch_cap", None),
        ("batch_cap", math.inf),
        ("kv_budget_fraction", 0.0999),
        ("kv_budget_fraction", 1.01),
        ("kv_budget_fraction", math.nan),
        ("kv_budget_fraction", "0.5"),
        ("kv_budget_fraction", True),
        ("speculation_depth", -1),
        ("speculation_depth", 9),
        ("speculation_depth", [1]),
        ("quantization_tier", "int8"),
        ("quantization_tier", 1),
        ("prefill_decode_split", "true"),
        ("prefill_decode_split", 1),
        ("priority_routing", None),
        ("batch_size", 32),
    ],
)
def test_what_is_out_of_range_or_of_another_type_is_refused_by_its_field(
    field: str, value: object
) -> None:
    with pytest.raises(ValidationError) as error:
        ServeAction(**{field: value})
    assert [one["loc"] for one in error.value.errors()] == [(field,)]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert ServeAction(batch_cap=64.0, kv_budget_fraction=1).batch_cap == 64


def test_the_first_observation_is_that_of_an_idle_server() -> None:
    fields = observe(Server(TASKS["static_workload"], 42).sight)
    observation = ServeObservation(**fields)
    assert observation.queue_depth == 0
    assert observation.slo_compliance_rate == 1.0
    assert observation.estimated_cost_per_1k == 0.05
    assert observation.request_arrival_rate > 0
    assert 0 < observation.spec_acceptance_rate < 1


def test_an_observation_is_the_sight_of_the_simulator_but_for_three_whole_numbers() -> None:
    server = Server(TASKS["bursty_workload"], 3)
    while not server.is_over:
        server.run_window(FIRST)
        sight = read_sight(ServeObservation(**observe(server.sight)))
        assert abs(sight.queue_depth - server.sight.queue_depth) <= 0.5
        rounded = sight._replace(
            queue_depth=server.sight.queue_depth,
            active_requests=server.sight.active_requests,
            eviction_events=server.sight.eviction_events,
        )
        assert rounded == server.sight
