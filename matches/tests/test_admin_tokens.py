"""Tokens in the admin: made with scopes and shown once, for oneself unless one may do all."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from knox.auth import TokenAuthentication
from knox.models import AuthToken

from matches.access import tokens
from matches.models import AuditRow, Scope, TokenAccess
from matches.tests.admin_acts import form_on

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/matches/tokenaccess/"


@pytest.fixture
def member(client: Client) -> User:
    """Return somebody of the staff who may make tokens, logged in."""
    member = User.objects.create_user("member", password="pass", is_staff=True)
    rights = ("add_tokenaccess", "view_tokenaccess")
    member.user_permissions.add(*Permission.objects.filter(codename__in=rights))
    client.force_login(member)
    return member


def _form(user: User, **change: Any) -> dict[str, Any]:
    return {"user": user.pk, "name": "laptop", "scopes": ["read", "submit"], "days": 3, **change}


def _once(client: Client) -> str:
    page = client.get(f"{ADDRESS}add/").content.decode()
    match = re.search(r'name="once" value="(\w+)"', page)
    assert match is not None
    return match[1]


def test_a_token_is_shown_once_and_works(admin_client: Client, admin_user: User) -> None:
    form = _form(admin_user, once=_once(admin_client))
    page = admin_client.post(f"{ADDRESS}add/", form)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    match = re.search(r'class="ev-secret"[^>]*>([0-9a-f]+)<', page.content.decode())
    assert match is not None
    user, _ = TokenAuthentication().authenticate_credentials(match[1].encode())
    assert user == admin_user
    access = TokenAccess.objects.get()
    assert (access.name, access.scopes) == ("laptop", ["read", "submit"])
    listing = admin_client.get(ADDRESS).content.decode()
    assert "laptop" in listing
    assert match[1] not in listing
    again = admin_client.post(f"{ADDRESS}add/", form, follow=True).content.decode()
    assert "nothing was done twice" in again
    assert match[1] not in again
    assert TokenAccess.objects.count() == 1


def test_making_a_token_leaves_an_audit_row_without_the_secret(
    admin_client: Client, admin_user: User
) -> None:
    page = admin_client.post(f"{ADDRESS}add/", _form(admin_user)).content.decode()
    match = re.search(r'class="ev-secret"[^>]*>([0-9a-f]+)<', page)
    assert match is not None
    noted = AuditRow.objects.get()
    assert noted.action == "tokenaccess.add"
    assert match[1] not in f"{noted.target_label} {noted.touched}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scopes": []}, "This field is required"),
        ({"scopes": ["everything"]}, "Select a valid choice"),
        ({"days": 0}, "greater than or equal to 1"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_a_token_that_cannot_be_is_a_form_error(
    admin_client: Client, admin_user: User, change: dict[str, Any], words: str
) -> None:
    page = admin_client.post(f"{ADDRESS}add/", _form(admin_user, **change)).content.decode()
    assert words in page
    assert not TokenAccess.objects.exists()


def test_who_is_no_administrator_makes_tokens_of_its_own_only(
    client: Client, member: User, admin_user: User
) -> None:
    refused = client.post(f"{ADDRESS}add/", _form(admin_user)).content.decode()
    assert "Select a valid choice" in refused
    assert not TokenAccess.objects.exists()
    client.post(f"{ADDRESS}add/", _form(member))
    assert TokenAccess.objects.get().token.user == member


def test_the_admin_shows_what_a_token_was_made_with_and_revokes_both(
    admin_client: Client, admin_user: User
) -> None:
    parent, _ = tokens.issue_token(admin_user, name="laptop", scopes=[Scope.READ], days=3)
    child, _ = tokens.issue_token(
        admin_user, name="robot", scopes=[Scope.READ], days=None, parent=parent
    )
    assert f"laptop ({parent.pk})" in admin_client.get(ADDRESS).content.decode()
    page = admin_client.get(f"{ADDRESS}{parent.pk}/change/").content.decode()
    assert f"robot ({child.pk})" in page
    ask = f"{ADDRESS}ask/revoke/?pk={parent.pk}"
    form = form_on(admin_client.get(ask).content.decode()) | {"reason": "it was lost"}
    done = admin_client.post(ask, form, follow=True).content.decode()
    assert "with 1 that were made with it" in done
    assert not AuthToken.objects.exists()


def test_who_is_no_administrator_sees_its_own_tokens_only(
    client: Client, member: User, admin_client: Client, admin_user: User
) -> None:
    admin_client.post(f"{ADDRESS}add/", _form(admin_user, name="secret machine"))
    client.force_login(member)
    assert "secret machine" not in client.get(ADDRESS).content.decode()


def test_a_name_that_cannot_be_read_is_refused_in_the_form(
    admin_client: Client, admin_user: User
) -> None:
    page = admin_client.post(f"{ADDRESS}add/", _form(admin_user, name="lap\u202etop"))
    assert page.status_code == 200
    (refusal,) = page.context["adminform"].form.errors["name"]
    assert "printable characters only" in refusal
    assert not TokenAccess.objects.exists()
