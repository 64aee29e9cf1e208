"""The options of `./run showdown serve`, as its process takes them."""

import argparse
import random
import re
import string
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

from gameservers.sdk import MAX_SLOTS
from gameservers.showdown.errors import SetUpError

TWO_SEATS: Final = "showdown_server_gen1random"
AGAINST: Final = "showdown_against_poke_env"
CHALLENGE, LADDER = "challenge", "ladder"
LOGIN_URL: Final = "https://play.pokemonshowdown.com/action.php?"
# Of the 18 letters that a name may have: what is left takes the number of the account.
LONGEST_USER: Final = 12
HIGHEST_PORT: Final = 65_535
# A player waits 30 s for an answer (EVALSITE_SERVER_S): who waits longer here says nothing at all.
FIND_S, ANSWER_S, STAGGER_S, LOGIN_S = 20.0, 25.0, 0.2, 10.0


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def seconds(text: str) -> float:
    """Return a length of time as options give it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 600:  # noqa: PLR2004 - said in the message
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, above 0, up to 600")
    return value


def whole_number(lowest: int, highest: int) -> "argparse._ActionType":
    """Return a reader of option values that are whole numbers of this range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no whole number from {lowest} to {highest}"
            )
        return int(text)

    return read


def battle_format(text: str) -> str:
    """Return the id of a format as the server writes it: small letters and digits."""
    if not re.fullmatch(r"[a-z0-9]{1,60}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no format such as gen1randombattle")
    return text


def user_name(text: str) -> str:
    """Return with what the names of accounts begin."""
    if not re.fullmatch(rf"[A-Za-z][A-Za-z0-9]{{0,{LONGEST_USER - 1}}}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be 1 to {LONGEST_USER} letters and digits, a letter first"
        )
    return text


def socket_url(text: str) -> str:
    """Return the address of a server's WebSocket: HOST:PORT is one in the clear."""
    url = text if "://" in text else f"ws://{text}"
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in ("ws", "wss") and bool(parts.hostname)
        is_sound = is_sound and (bool(parts.port) or parts.scheme == "wss")
    except ValueError:
        is_sound = False
    if not is_sound:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no HOST:PORT, and no ws:// or wss:// address"
        )
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/showdown/websocket"


def is_on_this_machine(url: str) -> bool:
    """Say whether a server is on loopback: no other one was ever tried."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def build_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(
        prog="./run showdown serve",
        description="Play battles on a server of Pokemon Showdown, by poke-env: a game server.",
        epilog="EVALSITE_SHOWDOWN_PASSWORD: of the accounts, on a server that asks for one. "
        "EVALSITE_PASS_KEY, EVALSITE_SERVE_PASS: as for every game server, docs/gameservers.md.",
    )
    add = parser.add_argument
    add("--address", type=socket_url, default="127.0.0.1:8000", metavar="HOST:PORT",
        help="of the Showdown server, or its ws(s):// address (127.0.0.1:8000)")  # fmt: skip
    add("--format", type=battle_format, default="gen1randombattle", help="(gen1randombattle)")
    add("--teams", type=Path, metavar="FOLDER", help="texts of teams, for formats that need one")
    add("--mode", choices=(CHALLENGE, LADDER), default=CHALLENGE, help="how battles begin")
    add("--game", default=TWO_SEATS, metavar="ID",
        help=f"{TWO_SEATS}: both seats are agents; {AGAINST}: one against a player of poke-env; "
        "or of a catalog file of your own for another format")  # fmt: skip
    add("--user", type=user_name, default=make_user_name(), metavar="NAME",
        help="with what the names of accounts begin (another one at each start)")  # fmt: skip
    add("--login-url", default=LOGIN_URL, metavar="URL", help="where passwords are shown")
    add("--slots", type=whole_number(1, MAX_SLOTS), default=16, metavar="N", help="(16)")
    add("--host", default="127.0.0.1", help="where players dial it (127.0.0.1)")
    add("--port", type=whole_number(0, HIGHEST_PORT), default=8081, metavar="P", help="(8081)")
    add("--name", default="showdown", help="of this game server (showdown)")
    add("--eval-head-url", default="", metavar="URL", help="offer the slots to this head, too")
    add("--find-s", type=seconds, default=FIND_S, help=f"to find an opponent ({FIND_S:g})")
    add("--answer-s", type=seconds, default=ANSWER_S, help=f"for an answer ({ANSWER_S:g})")
    add("--stagger-s", type=seconds, default=STAGGER_S,
        help=f"between two searches on the ladder ({STAGGER_S:g})")  # fmt: skip
    # What ./run showdown serve knows and this process does not.
    for name in ("--node", "--package-version", "--rules-version"):
        add(name, required=True, help=argparse.SUPPRESS)
    return parser


def make_user_name() -> str:
    """Return a beginning of names that no other game server on the same server has."""
    letters = string.ascii_lowercase + string.digits
    return "es" + "".join(random.choices(letters, k=5))


def read_teams(folder: Path | None) -> list[str]:
    """Return the texts of a folder of teams, none without one. Raises SetUpError."""
    if folder is None:
        return []
    texts = []
    for file in sorted(folder.glob("*.txt")):
        try:
            texts.append(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SetUpError(f"--teams: {file} cannot be read as text: {error}") from error
    if not texts:
        raise SetUpError(f"--teams {folder}: there is no .txt file in it")
    return texts


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; ends the process with one line and 2 for those that it cannot take."""
    return build_parser().parse_args(arguments)
