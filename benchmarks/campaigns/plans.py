"""What is asked of a simulated field, and who meets there."""

from collections.abc import Callable
from typing import NamedTuple

from arena.pairing import registry as pairings
from arena.pairing.registry import choose_pairing
from arena.parameters import read_parameters
from arena.verdicts import registry as questions
from benchmarks.campaigns.bounds import track_shares
from benchmarks.campaigns.worlds import Planner, plan_adaptively, plan_beforehand


class Task(NamedTuple):
    """A campaign about one field; plan: who meets, a name of PLANS; error: what it may err."""

    question: str
    field: str
    n_agents: int
    margin: float
    budget: int
    plan: str
    seed: int
    error: float = 0.05


def make_planner(task: Task) -> Planner:
    """Return what plans a campaign."""
    return PLANS[task.plan](task)


def plan_as_control(task: Task) -> Planner:
    """Return what control would choose for it."""
    question = questions.get(task.question)
    question_parameters = read_parameters(task.question, question.parameters, {})
    name, parameters = choose_pairing(task.question, question_parameters, n_agents=task.n_agents)
    pairing = pairings.get_adaptive(name).configured(parameters)
    # A prime far off: seeds of neighbouring campaigns must not run into each other.
    return plan_adaptively(pairing, task.seed * 1_000_003)


CHOSEN, EVEN, TRACKED = "chosen", "round_robin", "track_and_stop"
PLANS: dict[str, Callable[[Task], Planner]] = {
    CHOSEN: plan_as_control,
    EVEN: lambda task: plan_beforehand("double_round_robin", task.n_agents, task.budget, task.seed),
    TRACKED: lambda task: track_shares(task.question, task.margin),
}
