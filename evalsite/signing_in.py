"""The way in: one login for pages and admin, which leads back to where it was asked for."""

from math import ceil
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from matches.access import login_limits
from matches.access.visitors import may_read
from matches.store.clock import db_now

TOO_MANY = 429


class SignInForm(AuthenticationForm):
    """Name and password; a name that no account can have is not looked up and not written down."""

    # Django's own sets the length too late to check it, and PostgreSQL refuses to store a longer
    # one among the failed logins.
    username = UsernameField(
        max_length=User._meta.get_field("username").max_length,
        widget=forms.TextInput(attrs={"autofocus": True}),
    )


class SignIn(LoginView):
    """The login; users already logged in are told so, and what their account may not do."""

    template_name = "pages/login.html"
    authentication_form = SignInForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say whether one can read without an account."""
        return super().get_context_data(is_open=may_read(None), **kwargs)


def answer_lockout(
    request: HttpRequest, _response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Return the page that says when a password is looked at again."""
    wait_s = login_limits.find_wait(request, credentials, now=db_now()).total_seconds()
    context = {"minutes": max(1, ceil(wait_s / 60))}
    answer = render(request, "pages/locked.html", context, status=TOO_MANY)
    answer["Retry-After"] = f"{max(1, ceil(wait_s))}"
    return answer
