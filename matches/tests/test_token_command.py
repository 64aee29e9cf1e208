"""`./run manage token` prints a token that works."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from matches.models import Scope, TokenAccess
from matches.tests import callers

pytestmark = pytest.mark.django_db


def _token(*arguments: str) -> str:
    out = StringIO()
    call_command("token", *arguments, stdout=out)
    return out.getvalue().strip()


def _warn(*arguments: str) -> str:
    err = StringIO()
    call_command("token", *arguments, stdout=StringIO(), stderr=err)
    return err.getvalue()


def test_a_new_user_may_do_what_the_scopes_of_its_token_are_for() -> None:
    client = callers.with_token(_token("trainer", "-s", "read", "-s", "submit"))
    assert client.post("/api/v1/agents/", {}, "application/json").status_code == 400
    assert not User.objects.get().has_usable_password()


def test_a_user_that_exists_gets_no_rights_by_it() -> None:
    callers.user("trainer")
    client = callers.with_token(_token("trainer", "-s", "submit"))
    assert client.post("/api/v1/agents/", {}, "application/json").status_code == 403


def test_it_reads_for_a_year_unless_told_otherwise() -> None:
    _token("a")
    _token("a", "--for-ever", "--name", "node-7")
    for_ever, year = TokenAccess.objects.order_by("-pk")
    assert (year.name, year.scopes) == ("a", ["read"])
    assert year.token.expiry is not None
    assert (for_ever.name, for_ever.token.expiry) == ("node-7", None)


def test_it_tells_beside_the_secret_until_when_it_is_good() -> None:
    out, err = StringIO(), StringIO()
    call_command(
        "token", "ada", "-s", "read", "-s", "submit", "--days", "7", stdout=out, stderr=err
    )
    assert len(out.getvalue().split()) == 1
    end = TokenAccess.objects.get().token.expiry
    assert end is not None
    assert err.getvalue() == f"It is good until {end:%Y-%m-%d %H:%M} UTC, for: read, submit.\n"
    assert "for ever" in _warn("ada", "--for-ever")


def test_it_warns_of_rights_that_the_user_of_its_scopes_lacks() -> None:
    callers.user("trainer", (Scope.SUBMIT,))
    assert "Warning" not in _warn("trainer", "-s", "submit")
    warning = _warn("trainer", "-s", "submit", "-s", "worker")
    assert "trainer lacks rights that scope worker is for: view_checkpoint." in warning
    assert "scope submit" not in warning


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        _token("a", "-s", "everything")


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "soon", "99999"])
def test_days_out_of_range_are_refused_by_their_range(days: str) -> None:
    with pytest.raises(CommandError, match=f"whole number in 1.*got '{days}'"):
        _token("a", f"--days={days}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a", "--name", "x\x1b[31m"), "name: 'x.*printable"),
        (("a", "--name", "x" * 101), "name: .*1 to 100 characters"),
        (("",), "user: '' can be none"),
        (("a b",), "user: 'a b' can be none"),
        (("x" * 151,), "user: 'xx.*at most 150"),
    ],
)
def test_a_refused_name_leaves_no_user(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        _token(*arguments)
    assert not User.objects.exists()


def test_the_token_of_a_user_with_a_long_name_is_called_by_its_beginning() -> None:
    _token("x" * 150)
    assert TokenAccess.objects.get().name == "x" * 100
