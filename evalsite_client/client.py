"""The client: one server, one caller, an attribute per noun."""

import os
import random
from base64 import b64encode
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import requests

from evalsite_client.api.alarms import Alarms
from evalsite_client.api.attempts import Attempts
from evalsite_client.api.audit import Audits
from evalsite_client.api.evaluations import Evaluations
from evalsite_client.api.games import Games
from evalsite_client.api.gates import Gates
from evalsite_client.api.generations import Generations
from evalsite_client.api.matches import Matches
from evalsite_client.api.nodes import Nodes
from evalsite_client.api.outcomes import Outcomes
from evalsite_client.api.passes import Passes
from evalsite_client.api.recommendations import Recommendations
from evalsite_client.api.runs import Runs
from evalsite_client.api.schedules import Schedules
from evalsite_client.api.seasons import Seasons
from evalsite_client.api.system import Systems
from evalsite_client.api.tokens import Tokens
from evalsite_client.api.watches import Watches
from evalsite_client.api.workers import Workers
from evalsite_client.datasets import Datasets
from evalsite_client.errors import InputError
from evalsite_client.imports import Imports, Leaderboards
from evalsite_client.models import Models
from evalsite_client.nouns import Agents, Campaigns, Checkpoints, Experience, Trajectories
from evalsite_client.retries import Clock, Retries
from evalsite_client.transport import Login, Transport
from evalsite_client.waiting import Tournaments

URL_VARIABLE: Final = "EVALSITE_URL"
TOKEN_VARIABLE: Final = "EVALSITE_TOKEN"
DEFAULT_URL: Final = "http://127.0.0.1:8000"


class Client:
    """Calls an evalsite server; may be used in a `with` statement, by one thread at a time."""

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        password: tuple[str, str] | None = None,
        timeout_s: float = 30.0,
        retries: Retries | None = None,
        clock: Clock | None = None,
        session: requests.Session | None = None,
    ) -> None:
        """base_url: address of the server, else EVALSITE_URL, else this machine's port 8000.

        token: else EVALSITE_TOKEN; empty: nobody. password: user and password instead of a token,
        which only the calls of tokens take. timeout_s: for the connection, and for every wait for
        bytes of the answer. session: where certificates or proxies of one's own are needed; it is
        closed with the client. Raises InputError.
        """
        address = base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
        secret = os.environ.get(TOKEN_VARIABLE, "") if token is None else token
        # One session: a connection that is kept saves a handshake per call.
        self._session = session or requests.Session()
        transport = Transport(
            base_url=_check_address(address),
            login=_make_login(secret, password),
            timeout_s=timeout_s,
            retries=retries or Retries(),
            clock=clock or Clock(),
            rng=random.Random(),
            session=self._session,
        )
        self.base_url, self.clock = transport.base_url, transport.clock
        self.agents = Agents(transport)
        self.alarms = Alarms(transport)
        self.attempts = Attempts(transport)
        self.audit = Audits(transport)
        self.campaigns = Campaigns(transport)
        self.checkpoints, self.datasets = Checkpoints(transport), Datasets(transport)
        self.evaluations, self.experience = Evaluations(transport), Experience(transport)
        self.games = Games(transport)
        self.gates = Gates(transport)
        self.generations = Generations(transport)
        self.imports = Imports(transport)
        self.leaderboards = Leaderboards(transport)
        self.matches = Matches(transport)
        self.models, self.nodes = Models(transport), Nodes(transport)
        self.outcomes, self.recommendations = Outcomes(transport), Recommendations(transport)
        self.runs, self.schedules = Runs(transport), Schedules(transport)
        self.seasons = Seasons(transport)
        self.system = Systems(transport)
        self.passes = Passes(transport)
        self.tokens = Tokens(transport)
        self.tournaments = Tournaments(transport)
        self.trajectories = Trajectories(transport)
        self.watches = Watches(transport)
        self.workers = Workers(transport)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()


def _check_address(address: str) -> str:
    """Return the address without a slash at its end. Raises InputError."""
    advice = "give an address such as https://evalsite.example.org"
    # A login, a query or a fragment in it would get lost: every call makes its own address.
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_usable = is_usable and not (parts.username or parts.query or parts.fragment)
        _ = parts.port
    except ValueError as error:
        raise InputError("base_url", f"{address!r} is no address ({error}): {advice}") from error
    if not is_usable:
        raise InputError("base_url", f"{address!r} is no address of a server: {advice}")
    return address.rstrip("/")


def _make_login(token: str, password: tuple[str, str] | None) -> Login:
    # Not requests' own: that writes latin-1, and a password may be of any script.
    if password is not None:
        pair = ":".join(password)
        return Login(f"Basic {b64encode(pair.encode()).decode()}")
    # Not repeated in the error: it is a secret, and errors end in logs.
    if not token.isascii() or any(not char.isprintable() or char.isspace() for char in token):
        advice = "`evalsite token` or an administrator makes one"
        raise InputError("token", f"a token has letters and digits only, and no line end: {advice}")
    return Login(f"Token {token}" if token else "")
