"""Secrets that are derived, not stored: whoever holds the secret key can make each of them again.

A node gets three, one per purpose; raising its generation replaces all three. The launcher and
Django derive them alike, so nothing but the key has to be kept or copied.
"""

import hmac
import re
from typing import Literal

Purpose = Literal["broker", "fast", "reports"]

NAME_RULE = "1 to 60 of the characters A-Z a-z 0-9 _ . -"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")
# So that no node, whatever it is called, has the user name of a program.
_PREFIX = "node-"


def is_node_name(name: str) -> bool:
    """Return True for a name that a play node may have; NAME_RULE says it in words."""
    return _NAME.fullmatch(name) is not None


def node_user(name: str) -> str:
    """Return the user by which a node logs in to the broker and the fast store."""
    return name if name.startswith(_PREFIX) else f"{_PREFIX}{name}"


def node_secret(secret_key: str, purpose: Purpose, name: str, generation: int) -> str:
    """Return a node's password of the broker or the fast store, or the key of its reports."""
    return _derive_secret(secret_key, f"node:{purpose}:{generation}:{name}")


def gpu_key(secret_key: str) -> str:
    """Return the key of the signs of life of gpu workers, which all share one."""
    return role_secret(secret_key, "reports", "gpu")


def head_key(secret_key: str) -> str:
    """Return the key of the signs of life of game servers, for which the head reports."""
    return role_secret(secret_key, "reports", "head")


def trainer_key(secret_key: str) -> str:
    """Return the key of the reports of trainers, which all share one."""
    return role_secret(secret_key, "reports", "trainer")


def pass_key(secret_key: str) -> str:
    """Return the key of passes (arena.passes): control makes them, the head checks them."""
    return _derive_secret(secret_key, "passes")


def join_key(secret_key: str) -> str:
    """Return the key of the tokens by which machines join; only the web server has it.

    Not pass_key: the head has that one, and may not say who is a play node.
    """
    return _derive_secret(secret_key, "joining")


def role_secret(secret_key: str, server: str, role: str) -> str:
    """Return the password of a role, such as "web", at one of the servers."""
    # The first word of the text keeps nodes and roles apart, whatever they are called.
    return _derive_secret(secret_key, f"role:{server}:{role}")


def with_login(url: str, user: str, password: str) -> str:
    """Return the address of a server for one of its users."""
    return without_login(url).replace("://", f"://{user}:{password}@", 1)


def without_login(url: str) -> str:
    """Return the address without user and password."""
    scheme, _, tail = url.partition("://")
    place, slash, path = tail.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _derive_secret(secret_key: str, text: str) -> str:
    """Return 64 hexadecimal digits, which need no quoting in an address or a file of options."""
    return hmac.digest(secret_key.encode(), f"evalsite:{text}".encode(), "sha256").hex()
