"""Callers of the API as their administrators make them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from matches.access import tokens
from matches.models import Scope

READER = (Scope.READ,)
SUBMITTER = (Scope.READ, Scope.SUBMIT)
OPERATOR = (Scope.READ, Scope.SUBMIT, Scope.OPERATE)
WORKER = (Scope.WORKER,)


def user(name: str, scopes: Sequence[Scope] = (), *, is_admin: bool = False) -> User:
    """Return a user with the rights that the scopes need."""
    made = User.objects.create(username=name, is_staff=is_admin, is_superuser=is_admin)
    tokens.grant_rights(made, scopes)
    return made


def token(name: str, scopes: Sequence[Scope], *, is_admin: bool = False) -> str:
    """Return the secret of a token of a new user who may do what its scopes are for."""
    made = user(name, scopes, is_admin=is_admin)
    return tokens.issue_token(made, name=name, scopes=scopes, days=1)[1]


def expired(name: str) -> str:
    """Return the secret of a token of an administrator that was good until just now."""
    secret = token(name, list(Scope), is_admin=True)
    ended = timezone.now() - timedelta(seconds=1)
    AuthToken.objects.filter(user__username=name).update(expiry=ended)
    return secret


def with_token(secret: str) -> Client:
    """Return a client that logs in with a token."""
    return Client(headers={"authorization": f"Token {secret}"})


def get_json(client: Client, address: str) -> Any:
    """Return what the API answers at an address below /api/v1/."""
    response = client.get(f"/api/v1/{address}")
    assert response.status_code == 200, response.content
    return response.json()


def get_rows(client: Client, address: str) -> list[Any]:
    """Return the rows of all pages of a list of the API."""
    rows = []
    while address:
        page = get_json(client, address)
        rows += page["results"]
        address = (page["next"] or "").partition("/api/v1/")[2]
    return rows
