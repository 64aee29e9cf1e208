"""Signals: an end between two steps, at once in a wait, at once by a second one."""

import os
import signal

import pytest

from evalsite_client.experience.stopping import Stop, take_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_seen_at_the_next_check_and_a_second_one_at_once(number: int) -> None:
    before = signal.getsignal(number)
    stop = Stop()
    with take_signals(stop):
        stop.check()
        os.kill(os.getpid(), number)
        assert stop.is_wanted
        with pytest.raises(KeyboardInterrupt):
            stop.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_what_waits_is_interrupted_at_once() -> None:
    stop = Stop()
    with pytest.raises(KeyboardInterrupt), stop.interrupt_wait():
        stop.take_signal()
    with pytest.raises(KeyboardInterrupt), stop.interrupt_wait():
        pytest.fail("nothing is begun once an end is wanted")


def test_the_last_things_are_done_unless_another_signal_comes() -> None:
    stop = Stop()
    stop.take_signal()
    stop.begin_end()
    stop.check()
    with pytest.raises(KeyboardInterrupt), stop.interrupt_wait():
        stop.take_signal()
