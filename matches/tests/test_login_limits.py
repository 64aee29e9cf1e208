"""Wrong passwords: from some number on none is hashed, and the owner still comes in."""

from base64 import b64encode
from typing import Any, ClassVar

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from redis import Redis

from matches.access import login_limits, rate_counter
from matches.tests import callers

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse"
TOKENS = "/api/v1/tokens/"
STRANGER, HOME, ELSEWHERE = "203.0.113.9", "198.51.100.4", "192.0.2.77"


class CountingHasher(MD5PasswordHasher):
    """Counts what it hashes."""

    n_hashed: ClassVar[int] = 0

    def encode(self, password: str, salt: str) -> str:
        CountingHasher.n_hashed += 1
        return super().encode(password, salt)


@pytest.fixture(autouse=True)
def ada(settings: Any, monkeypatch: pytest.MonkeyPatch, broker: Redis) -> User:
    """Return an administrator behind one proxy; passwords are counted as they are hashed."""
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    settings.EVALSITE_PROXIES = 1
    monkeypatch.setattr(rate_counter._Store, "away_until_s", 0.0)
    # Calls are counted by the minute: a test that crossed the end of one would begin anew.
    monkeypatch.setattr(rate_counter, "clock", lambda: 1_000_000_030.0)
    user = User.objects.create_superuser("ada", password=PASSWORD)
    monkeypatch.setattr(CountingHasher, "n_hashed", 0)
    return user


def _at_admin(password: str, address: str, *, name: str = "ada") -> int:
    """Return the status of the answer to a login at the admin; 302: it is in."""
    form = {"username": name, "password": password}
    headers = {"x-forwarded-for": f"6.6.6.6, {address}"}
    client = Client(headers=headers, REMOTE_ADDR="10.0.0.1")
    return client.post("/admin/login/?next=/admin/", form).status_code


def _at_api(password: str, address: str, *, name: str = "ada") -> int:
    """Return the status of the answer to a call with name and password; 400: it is in."""
    login = b64encode(f"{name}:{password}".encode()).decode()
    headers = {"authorization": f"Basic {login}", "x-forwarded-for": f"6.6.6.6, {address}"}
    client = Client(headers=headers, REMOTE_ADDR="10.0.0.1")
    return client.post(TOKENS, {}, content_type="application/json").status_code


def _write_wrong(n_wrong: int, *, name: str, address: str) -> None:
    """Write down passwords that were wrong just now."""
    _at_api("wrong", address, name=name)
    AccessAttempt.objects.filter(username=name, ip_address=address).update(
        failures_since_start=n_wrong
    )
    CountingHasher.n_hashed = 0


@pytest.mark.parametrize("call", [_at_admin, _at_api])
def test_behind_a_proxy_a_stranger_locks_out_nobody_but_himself(call: Any) -> None:
    assert [call("wrong", STRANGER) for _ in range(6)][-2:] == [429, 429]
    assert CountingHasher.n_hashed == 5
    assert call(PASSWORD, STRANGER) == 429
    assert CountingHasher.n_hashed == 5
    assert call(PASSWORD, HOME) in (302, 400)


def test_guesses_at_many_accounts_are_not_hashed_from_some_number_on() -> None:
    answers = [_at_api("wrong", STRANGER, name=f"user-{n}") for n in range(35)]
    assert CountingHasher.n_hashed == login_limits.WRONG_OF_ADDRESS
    assert answers[-5:] == [429] * 5
    assert _at_api(PASSWORD, HOME) == 400


def test_guesses_that_come_all_at_once_are_counted_before_they_are_hashed(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EVALSITE_LOGIN_RATE = 4
    # As if none had been written down yet when the next one comes.
    monkeypatch.setattr(login_limits.LoginHandler, "get_failures", lambda *_: 0)
    answers = [_at_api("wrong", STRANGER, name=f"user-{n}") for n in range(6)]
    assert answers == [401] * 4 + [429] * 2
    assert CountingHasher.n_hashed == 4
    assert _at_api(PASSWORD, HOME) == 400


def test_guesses_at_one_account_from_everywhere_leave_its_owner_in() -> None:
    assert _at_admin(PASSWORD, HOME) == 302
    _write_wrong(login_limits.WRONG_OF_ACCOUNT, name="ada", address=STRANGER)
    assert _at_api("wrong", ELSEWHERE) == 429
    assert _at_admin(PASSWORD, ELSEWHERE) == 429
    assert CountingHasher.n_hashed == 0
    assert _at_admin(PASSWORD, HOME) == 302
    assert _at_api("wrong", ELSEWHERE, name="bob") == 401


def test_a_command_is_the_way_back_in() -> None:
    _write_wrong(login_limits.WRONG_OF_ADDRESS, name="ada", address=HOME)
    assert _at_admin(PASSWORD, HOME) == 429
    call_command("axes_reset")
    assert _at_admin(PASSWORD, HOME) == 302


def test_trying_on_does_not_make_it_longer() -> None:
    _write_wrong(5, name="ada", address=HOME)
    before = AccessAttempt.objects.get().attempt_time
    assert _at_admin(PASSWORD, HOME) == 429
    assert AccessAttempt.objects.get().attempt_time == before


def test_a_name_that_no_user_can_have_is_not_looked_at() -> None:
    assert _at_api("wrong", STRANGER, name="x" * 300) == 401
    assert CountingHasher.n_hashed == 0
    assert not AccessAttempt.objects.exists()


def test_wrong_tokens_are_throttled_like_strangers(settings: Any) -> None:
    settings.EVALSITE_ANONYMOUS_RATE = 3
    guess = callers.with_token("0" * 64)
    assert [guess.get("/api/v1/agents/").status_code for _ in range(4)] == [401, 401, 401, 429]
    own = callers.with_token(callers.token("reader", callers.READER))
    assert own.get("/api/v1/agents/").status_code == 200
