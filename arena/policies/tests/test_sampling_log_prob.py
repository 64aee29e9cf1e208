"""What is written down of a choice: the log-probability that it had."""

import numpy as np
import pytest

from arena.policies.sampling import log_prob

LOGITS = np.array([1.0, 5.0, 2.0, 2.0], np.float32)
MASK = np.array([True, False, True, True])


def test_the_best_legal_action_is_certain_at_temperature_0() -> None:
    assert log_prob(LOGITS, MASK, 2, temperature=0) == 0.0
    assert log_prob(LOGITS, MASK, 3, temperature=0) == -np.inf


def test_above_it_the_legal_actions_share_the_probability() -> None:
    shares = [np.exp(log_prob(LOGITS, MASK, action, temperature=0.5)) for action in (0, 2, 3)]
    assert sum(shares) == pytest.approx(1)
    assert shares[1] / shares[0] == pytest.approx(np.exp(2))
    assert log_prob(LOGITS, MASK, 1, temperature=0.5) == -np.inf
