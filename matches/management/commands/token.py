"""`./run manage token`: make a token of the API, for a program or a node."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from matches.access import tokens
from matches.errors import BadInputError, MatchError
from matches.models import Scope, TokenAccess

DAYS = 365


def read_days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= tokens.MAX_DAYS:
        raise ArgumentTypeError(f"must be a whole number in 1..{tokens.MAX_DAYS}, got {text!r}")
    return int(text)


class Command(BaseCommand):
    """Make a token and print it; it is shown this once."""

    help = (
        "Make a token of the API for a user and print it. A user that does not exist is made, "
        "without a password and with the rights that the scopes need."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("user", help="its name")
        parser.add_argument(
            *("-s", "--scope"),
            action="append",
            choices=Scope.values,
            help="what it may be used for, once for each; read if none is given",
        )
        parser.add_argument("--name", default="", help="what it is for; the user's name if empty")
        lasting = parser.add_mutually_exclusive_group()
        lasting.add_argument("--days", type=read_days, default=DAYS)
        lasting.add_argument("--for-ever", action="store_true", help="it never ends")

    def handle(self, *_args: Any, user: str, **options: Any) -> None:
        """Print the secret, on stderr what it is good for: a script takes the secret alone."""
        scopes = [Scope(name) for name in options["scope"] or [Scope.READ]]
        days = None if options["for_ever"] else options["days"]
        name = options["name"] or user[: tokens.MAX_NAME]
        try:
            # What is refused leaves no user behind.
            with transaction.atomic():
                owner = _find_or_add_user(user, scopes)
                access, secret = tokens.issue_token(owner, name=name, scopes=scopes, days=days)
        except MatchError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(secret)
        self.stderr.write(_describe_end(access))
        for scope, rights in tokens.list_missing_rights(owner, scopes).items():
            self.stderr.write(
                f"Warning: {owner} lacks rights that scope {scope} is for: {', '.join(rights)}. "
                "An administrator gives them to the user in the admin."
            )


def _describe_end(access: TokenAccess) -> str:
    end, scopes = access.token.expiry, ", ".join(access.scopes)
    until = "for ever" if end is None else f"until {end:%Y-%m-%d %H:%M} UTC"
    return f"It is good {until}, for: {scopes}."


def _find_or_add_user(name: str, scopes: Sequence[Scope]) -> User:
    owner = User.objects.filter(username=name).first()
    if owner is not None:
        return owner
    owner = User(username=name)
    owner.set_unusable_password()
    try:
        owner.clean_fields()
    except ValidationError as error:
        why = "; ".join(error.messages)
        raise BadInputError("user", f"{name!r:.80} can be none: {why}") from error
    owner.save()
    tokens.grant_rights(owner, scopes)
    return owner
