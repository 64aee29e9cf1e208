"""Signs of life: as long as the work goes on, and no longer than it may."""

from threading import Event, Semaphore

from training.errors import UnavailableError
from training.signs import giving_signs


def test_signs_are_given_until_the_work_is_done_even_where_one_is_lost() -> None:
    signs = Semaphore(0)

    def give() -> None:
        signs.release()
        raise UnavailableError("the broker is away")

    with giving_signs(give, every_s=0.001, most=10**9):
        assert all(signs.acquire(timeout=5) for _ in range(3))
    while signs.acquire(blocking=False):
        pass
    assert not signs.acquire(timeout=0.02)


def test_work_without_end_gives_no_signs_without_end() -> None:
    n_given, is_over = [0], Event()

    def give() -> None:
        n_given[0] += 1
        if n_given[0] == 3:
            is_over.set()

    with giving_signs(give, every_s=0.001, most=3):
        assert is_over.wait(5)
    assert n_given == [3]
