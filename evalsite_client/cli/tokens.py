"""Commands of tokens: make, list, revoke."""

import os
from argparse import ArgumentParser, Namespace, _SubParsersAction
from getpass import getpass

from evalsite_client.cli.options import add_command, add_limit, page_size, read_whole, take_rows
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client
from evalsite_client.errors import InputError

SCOPES = ("read", "submit", "operate", "worker")
HEAD = ("id", "user", "name", "scopes", "begins with", "created", "ends", "made with")
PASSWORD_VARIABLE = "EVALSITE_PASSWORD"  # the name of a variable


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    creating = add_command(
        commands,
        "token",
        create_token,
        examples="  export EVALSITE_TOKEN=$(evalsite token laptop --user ada "
        "--scope read --scope submit)",
    )
    creating.add_argument("name", help="what it is for")
    creating.add_argument(
        "--user",
        help=f"log in with name and password (asked for, or {PASSWORD_VARIABLE}); "
        "else with the token that you have",
    )
    creating.add_argument(
        *("-s", "--scope"), action="append", choices=SCOPES, help="read if none is given"
    )
    creating.add_argument(
        "--days",
        type=read_whole(1),
        default=90,
        help="until it ends (90); made with a token, with that one at the latest",
    )
    add_limit(add_command(commands, "tokens", show_tokens))
    add_command(commands, "revoke", revoke_token).add_argument(
        "token_id", type=read_whole(1), metavar="ID"
    )


def ask_password(user: str) -> tuple[str, str]:
    """Return user and password, which is asked for unless the environment has it."""
    try:
        return user, os.environ.get(PASSWORD_VARIABLE) or getpass(f"password of {user}: ")
    except EOFError as error:
        missing = f"nobody answers for the password of {user!r}: set {PASSWORD_VARIABLE}"
        raise InputError("password", missing) from error


def create_token(client: Client, options: Namespace) -> Answer:
    """Make a token of the API for oneself and print its secret, which is shown this once."""
    token = client.tokens.create(name=options.name, scopes=options.scope, days=options.days)
    return Answer(token, token.token or "")


def show_tokens(client: Client, options: Namespace) -> Answer:
    """List one's own tokens, the newest first."""
    shown_tokens = take_rows(client.tokens.list(page_size=page_size(options)), options)
    rows = [
        (
            *(t.id, t.user, t.name, " ".join(t.scopes)),
            *(t.begins_with, t.created_at, t.expires_at, t.made_with),
        )
        for t in shown_tokens
    ]
    return Answer(shown_tokens, format_table(HEAD, rows))


def revoke_token(client: Client, options: Namespace) -> Answer:
    """End a token and all that were made with it."""
    client.tokens.revoke(options.token_id)
    return Answer({"revoked": options.token_id}, f"token {options.token_id} is revoked")
