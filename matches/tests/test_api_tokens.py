"""Tokens: made with a password or another token, never with more than one has, revoked at once."""

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from matches.access import tokens
from matches.errors import BadInputError, ConflictError
from matches.models import Scope, TokenAccess
from matches.tests import callers

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens/"


def _make(client: Client, **fields: object) -> Any:
    body = {"name": "laptop", "scopes": ["read"], **fields}
    return client.post(TOKENS, body, content_type="application/json")


def _with_password(name: str, password: str) -> Client:
    login = b64encode(f"{name}:{password}".encode()).decode()
    return Client(headers={"authorization": f"Basic {login}"})


def test_a_password_gets_a_token_and_the_token_opens_the_rest() -> None:
    User.objects.create_superuser("ada", password="correct horse")
    response = _make(_with_password("ada", "correct horse"), scopes=["submit"], days=5)
    assert response.status_code == 201, response.content
    made = response.json()
    assert (made["user"], made["scopes"]) == ("ada", ["submit"])
    assert made["token"].startswith(made["begins_with"])
    access = TokenAccess.objects.get()
    assert access.token.expiry is not None
    assert 4 < (access.token.expiry - timezone.now()).total_seconds() / 86_400 <= 5
    opened = callers.with_token(made["token"]).post("/api/v1/agents/", {}, "application/json")
    assert opened.status_code == 400


def test_a_password_opens_nothing_else() -> None:
    User.objects.create_superuser("ada", password="correct horse")
    client = _with_password("ada", "correct horse")
    assert client.post("/api/v1/agents/", {}, "application/json").status_code == 401


@pytest.mark.parametrize("headers", [{}, {"authorization": f"Bearer {'a' * 64}"}])
def test_who_sends_no_token_or_as_others_take_theirs_is_told_how(headers: dict[str, str]) -> None:
    answer = Client(headers=headers).post("/api/v1/agents/", {}, "application/json")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Token")
    assert "send Authorization: Token SECRET" in answer.json()["detail"]


def test_wrong_passwords_lock_a_user_out() -> None:
    User.objects.create_superuser("ada", password="correct horse")
    client = _with_password("ada", "wrong")
    answers = [_make(client) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [401] * 4 + [429] * 2
    assert answers[-1].headers["Retry-After"] == "900"
    assert answers[-1].headers["Content-Type"] == "application/problem+json"
    assert _make(_with_password("ada", "correct horse")).status_code == 429


@pytest.mark.parametrize("name", ["a\x00", "nobody"])
def test_an_unknown_user_is_refused(name: str) -> None:
    assert _make(_with_password(name, "x")).status_code == 401


def test_a_token_makes_none_with_more_scopes_than_it_has() -> None:
    client = callers.with_token(callers.token("reader", callers.READER))
    assert _make(client, scopes=["read"]).status_code == 201
    refused = _make(client, scopes=["read", "operate", "worker"])
    assert refused.status_code == 403
    assert refused.json()["detail"] == "your token lacks operate, worker itself"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["all"]}, "scopes.0"),
        ({"name": ""}, "name"),
        ({"days": 0}, "days"),
        ({"days": 10**9}, "days"),
    ],
)
def test_a_token_that_cannot_be_is_refused(
    admin_client: Client, fields: dict[str, Any], field: str
) -> None:
    response = _make(admin_client, **fields)
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field
    assert not TokenAccess.objects.exists()


def test_a_token_may_last_for_ever(admin_client: Client) -> None:
    assert _make(admin_client, days=None).json()["expires_at"] is None


def _expiry(made: Any) -> datetime:
    return datetime.fromisoformat(made["expires_at"])


@pytest.mark.parametrize("days", [None, 90, 1])
def test_a_token_makes_none_that_outlives_it(days: int | None) -> None:
    client = callers.with_token(callers.token("reader", callers.READER))
    parent = TokenAccess.objects.get()
    child = _make(client, days=days).json()
    grandchild = _make(callers.with_token(child["token"]), days=days).json()
    assert (child["made_with"], grandchild["made_with"]) == (parent.pk, child["id"])
    assert _expiry(grandchild) <= _expiry(child) <= parent.token.expiry


def test_a_shorter_life_is_kept() -> None:
    user = callers.user("ada")
    parent, secret = tokens.issue_token(user, name="long", scopes=callers.READER, days=30)
    child = _make(callers.with_token(secret), days=2).json()
    assert _expiry(child) < parent.token.expiry - timedelta(days=27)


def test_a_revoked_token_takes_along_all_that_were_made_with_it() -> None:
    secret = callers.token("reader", callers.READER)
    child = _make(callers.with_token(secret)).json()
    grandchild = _make(callers.with_token(child["token"])).json()
    other = callers.token("other", callers.READER)
    parent = TokenAccess.objects.get(pk=child["made_with"])
    callers.with_token(secret).delete(f"{TOKENS}{parent.pk}/")
    answers = [
        callers.with_token(one).get(TOKENS).status_code
        for one in (secret, child["token"], grandchild["token"], other)
    ]
    assert answers == [401, 401, 401, 200]
    assert AuthToken.objects.count() == 1


def test_however_a_token_goes_its_children_open_nothing() -> None:
    secret = callers.token("reader", callers.READER)
    child = _make(callers.with_token(secret)).json()
    AuthToken.objects.get(access__pk=child["made_with"]).delete()
    assert callers.with_token(child["token"]).get("/api/v1/agents/").status_code == 401


def test_a_token_whose_parent_was_revoked_meanwhile_is_not_made() -> None:
    user = callers.user("ada")
    parent, _ = tokens.issue_token(user, name="gone", scopes=callers.READER, days=1)
    tokens.revoke_token(parent)
    parent.pk = 10**6
    with pytest.raises(ConflictError, match="revoked"):
        tokens.issue_token(user, name="late", scopes=callers.READER, days=1, parent=parent)
    assert not AuthToken.objects.exists()


def test_a_chain_of_tokens_is_short_enough_to_be_revoked() -> None:
    user = callers.user("ada")
    parent = None
    for _ in range(tokens.MAX_ANCESTORS + 1):
        parent, secret = tokens.issue_token(
            user, name="x", scopes=callers.READER, days=1, parent=parent
        )
    refused = _make(callers.with_token(secret))
    assert refused.status_code == 400
    assert "with an older one" in refused.json()["detail"] + str(refused.json()["errors"])
    assert tokens.revoke_token(TokenAccess.objects.earliest("pk")) == tokens.MAX_ANCESTORS
    assert not AuthToken.objects.exists()


def test_everybody_sees_its_own_tokens_and_an_administrator_all() -> None:
    reader = callers.with_token(callers.token("reader", callers.READER))
    admin = callers.with_token(callers.token("admin", list(Scope), is_admin=True))
    listed = reader.get(TOKENS).json()["results"]
    assert [row["user"] for row in listed] == ["reader"]
    assert "token" not in listed[0]
    assert [row["user"] for row in admin.get(TOKENS).json()["results"]] == ["admin", "reader"]


def test_a_revoked_token_is_refused_at_once() -> None:
    client = callers.with_token(callers.token("reader", callers.READER))
    own = TokenAccess.objects.get()
    assert client.delete(f"{TOKENS}{own.pk}/").status_code == 204
    assert client.get(TOKENS).status_code == 401
    assert not TokenAccess.objects.exists()


def test_a_token_does_not_revoke_one_that_may_do_more() -> None:
    user = callers.user("ada", callers.OPERATOR)
    _, secret = tokens.issue_token(user, name="weak", scopes=callers.READER, days=1)
    strong, _ = tokens.issue_token(user, name="strong", scopes=callers.OPERATOR, days=1)
    response = callers.with_token(secret).delete(f"{TOKENS}{strong.pk}/")
    assert response.status_code == 403
    assert TokenAccess.objects.count() == 2


def test_the_token_of_somebody_else_is_not_there() -> None:
    callers.token("other", callers.READER)
    other = TokenAccess.objects.get()
    client = callers.with_token(callers.token("reader", callers.READER))
    assert client.delete(f"{TOKENS}{other.pk}/").status_code == 404


def test_a_token_without_scopes_is_not_made() -> None:
    with pytest.raises(BadInputError, match="read, submit, operate, worker"):
        tokens.issue_token(callers.user("ada"), name="x", scopes=[], days=1)


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\u202eb", "a\nb", " ", "x" * 101])
def test_a_name_that_no_list_can_show_is_refused(name: str) -> None:
    owner = User.objects.create_superuser("ada", password="correct horse")
    (refusal,) = _make(_with_password("ada", "correct horse"), name=name).json()["errors"]
    assert refusal["field"] == "name"
    with pytest.raises(BadInputError) as error:
        tokens.issue_token(owner, name=name, scopes=[Scope.READ], days=None)
    assert error.value.field == "name"
    assert not TokenAccess.objects.exists()
