"""Which calls a gpu worker takes from its queue, into which play nodes push doorbells."""

import pytest

from arena.errors import MessageError
from arena.messages import CheckOrder
from inference.transport import KEY_VARIABLE, check_call

OWN = "7" * 64


def check(key: str) -> tuple[CheckOrder]:
    return (CheckOrder("a" * 64, "/x", "token", "connect_four", 7, [126], key),)


def test_a_check_needs_the_key_of_gpu_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, OWN)
    check_call(check(OWN))
    for key in ("", "8" * 64, "é", OWN[:-1]):
        with pytest.raises(MessageError, match="without the key of gpu workers"):
            check_call(check(key))


def test_where_no_key_is_set_no_check_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(MessageError):
        check_call(check(""))


def test_doorbells_and_orders_need_no_key() -> None:
    check_call((0, "lease"))
    check_call(())
