"""What a machine says to the server that it joins or leaves."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import requests

from launcher.errors import SetupError

CALL_S: Final = 20.0
REDIRECTS: Final = range(300, 400)


class ShutOutError(SetupError):
    """The server knows no such node with this key: it was shut out by others."""


@dataclass(frozen=True)
class JoinAnswer:
    """What the server tells a machine that it has let in."""

    environment: Mapping[str, str]
    plugins: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """Return what the node is called."""
        return self.environment["EVALSITE_NODE"]


class JoinServer:
    """The server that a node belongs to, by the address of its pages."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def join(self, token: str) -> JoinAnswer:
        """Return what the node needs, which is now let in. Raises SetupError."""
        answer = self._post("nodes/", {"token": token})
        try:
            plugins = {name: b64decode(text) for name, text in answer["plugins"].items()}
            # What else a server may say is no business of a node.
            environment = {
                name: str(value)
                for name, value in answer["environment"].items()
                if name == "REDIS_URL" or name.startswith("EVALSITE_")
            }
            joined = JoinAnswer(environment, plugins)
            missing = {"REDIS_URL", "EVALSITE_NODE", "EVALSITE_NODE_KEY"} - environment.keys()
        except (KeyError, ValueError, AttributeError, TypeError):
            missing = {"plugins or environment"}
        if missing:
            raise SetupError(f"{self.url} answers without {', '.join(sorted(missing))}: {IS_IT}")
        return joined

    def leave(self, name: str, key: str) -> None:
        """Have the node shut out. Raises SetupError, ShutOutError where it is out already."""
        self._post("nodes/leave/", {"name": name, "node_key": key})

    def last_seen(self, name: str, key: str) -> str:
        """Return when the server heard of the node last, "" for never. Raises SetupError."""
        answer = self._post("nodes/look/", {"name": name, "node_key": key})
        return str(answer.get("seen_at") or "")

    def _post(self, path: str, body: Mapping[str, str]) -> dict[str, Any]:
        try:
            answer = requests.post(
                f"{self.url}/api/v1/{path}", json=body, timeout=CALL_S, allow_redirects=False
            )
        # Of a host like "a..b" another one comes through.
        except (requests.RequestException, ValueError) as error:
            raise SetupError(
                f"{self.url} cannot be reached: {name_cause(error)}. Is the server started with "
                "./run up --bind ADDRESS, and its port open to this machine?"
            ) from None
        if answer.status_code in REDIRECTS:
            to = answer.headers.get("Location", "")
            raise SetupError(f"{self.url} sends on to {to:.200}: use the address there")
        try:
            told = answer.json()
        except requests.JSONDecodeError:
            told = None
        if not isinstance(told, dict) or (not answer.ok and "detail" not in told):
            raise SetupError(
                f"{self.url} answers {answer.status_code}, but not as evalsite: {IS_IT}"
            )
        if answer.ok:
            return told
        refusal = f"{self.url} refuses ({answer.status_code}): {_describe_refusal(told)}"
        raise (ShutOutError if answer.status_code == requests.codes.forbidden else SetupError)(
            " ".join(refusal.split())
        )


IS_IT: Final = "is it the address of its pages?"


def _describe_refusal(answer: Mapping[str, Any]) -> str:
    errors = answer.get("errors")
    if isinstance(errors, list) and all(isinstance(error, dict) for error in errors) and errors:
        return "; ".join(f"{error.get('field')}: {error.get('message')}" for error in errors)
    return str(answer["detail"])


def name_cause(error: BaseException) -> str:
    """Return the innermost cause of a failed call, short enough for a line."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return " ".join(str(error).split())[:200] or type(error).__name__
