"""Discrete CQL: its targets and its regulariser against values by hand."""

from typing import Any

import torch
from torch import Tensor, nn

from training import registry
from training.base import Task
from training.catalog.cql import ConservativeQ
from training.records import Records

TASK = Task("lines", (3,), 3)
SCALE, DISCOUNT = 0.5, 0.9


class Table(nn.Module):
    """Values that stand in the observation, plus something."""

    def __init__(self, plus: Tensor) -> None:
        super().__init__()
        self.plus = plus

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return observations + self.plus, torch.zeros(len(observations)), states


def learner_of(plus: Tensor) -> ConservativeQ:
    parameters = {"reward_scale": SCALE, "discount": DISCOUNT, "minibatch": 2}
    made: Any = registry.get("cql").begin(TASK, parameters, seed=1)
    made.module = made._model = Table(plus)
    learner: ConservativeQ = made
    return learner


def records_of(**changed: Any) -> Records:
    columns: dict[str, Any] = {
        "observations": torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]),
        "next_observations": torch.tensor([[4.0, 5.0, 6.0], [4.0, 5.0, 6.0]]),
        "actions": torch.tensor([0, 2]),
        "rewards": torch.tensor([2.0, -4.0]),
        "terminated": torch.tensor([False, True]),
        "masks": torch.ones(2, 3, dtype=torch.bool),
        "next_masks": torch.ones(2, 3, dtype=torch.bool),
    }
    return Records(**{**columns, **changed})


def test_the_network_chooses_its_older_self_judges_and_an_end_has_no_value() -> None:
    learner = learner_of(torch.tensor([9.0, 0.0, 0.0]))
    target = Table(torch.tensor([-1.0, 0.0, 0.0]))
    # 4 + 9 is the best, of which the older self says 4 - 1.
    targets = learner._work_out_targets(records_of(), target)
    torch.testing.assert_close(targets, torch.tensor([SCALE * 2 + DISCOUNT * 3, SCALE * -4]))


def test_what_is_not_legal_next_is_not_chosen() -> None:
    learner = learner_of(torch.zeros(3))
    masks = torch.tensor([[True, True, False], [True, True, True]])
    targets = learner._work_out_targets(records_of(next_masks=masks), Table(torch.zeros(3)))
    torch.testing.assert_close(targets[0], torch.tensor(SCALE * 2 + DISCOUNT * 5))


def test_the_regulariser_compares_legal_actions_with_the_one_that_was_taken() -> None:
    learner = learner_of(torch.zeros(3))
    masks = torch.tensor([[True, True, False], [True, True, True]])
    _, gap = learner._measure_losses(records_of(masks=masks), Table(torch.zeros(3)))
    by_hand = torch.tensor([1.0, 2.0]).logsumexp(0) - 1.0 + torch.tensor([0.0] * 3).logsumexp(0)
    torch.testing.assert_close(gap, by_hand)


def test_its_values_learn_which_of_two_actions_pays() -> None:
    torch.manual_seed(0)
    n = 512
    observations = torch.rand(n, 3)
    actions = torch.randint(0, 3, (n,))
    learner: Any = registry.get("cql").begin(TASK, {"minibatch": 64}, seed=1)
    paid = Records(
        observations, observations, actions, 20.0 * (actions == 1), torch.ones(n, dtype=torch.bool),
        torch.ones(n, 3, dtype=torch.bool), torch.ones(n, 3, dtype=torch.bool),
    )  # fmt: skip
    for _ in range(20):
        metrics = learner.learn_records(paid)
    values, _ = learner.forward(observations)
    # Cloning could not tell: each was taken as often.
    assert (values.argmax(-1) == 1).float().mean() > 0.95
    assert (metrics["n_used"], learner.version, learner.n_steps) == (n, 20, 20 * n)
    again: Any = registry.get("cql").begin(TASK, {}, seed=2)
    again.load(learner.save())
    torch.testing.assert_close(again.forward(observations)[0], values)
