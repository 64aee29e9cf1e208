"""Signals that end a stack: while it starts they raise, later they are only noted."""

import os
import signal
from collections.abc import Iterator

import pytest

from launcher.foreground import Interruption

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def interruption() -> Iterator[Interruption]:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield Interruption()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_each_signal_ends_a_start_at_once_and_a_running_stack_in_order(
    interruption: Interruption, number: signal.Signals
) -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    interruption.is_asked = interruption.is_raising = False
    os.kill(os.getpid(), number)
    assert interruption.is_asked
