"""Machines that join by one command: admitted by a token, told all that they need, and let go."""

import os
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from arena.catalogs import list_plugin_folders
from arena.credentials import join_key
from arena.passes import PassError, check_pass, make_pass
from matches.errors import BadInputError, ConflictError, ForbiddenError
from matches.models import NodeKey, Worker
from matches.nodes.node_keys import (
    admit_generation,
    build_environment,
    check_name,
    derive_secret,
    revoke_node,
)
from matches.store import auditing
from matches.store.auditing import Actor, Target
from matches.store.signing import is_same_token

MINUTES, MAX_MINUTES = 60, 24 * 60
"""How long a token is good unless it is used before."""
MAX_PLUGIN_BYTES = 8 << 20
"""Of all files together: they go over in one answer."""
LEFT_OUT = frozenset({"__pycache__", "tests", "node_modules", "var"})
"""Folders among plug-ins that stay here, as hidden ones do."""
AGREED = (
    "EVALSITE_DEADLINE_MS",
    "EVALSITE_DETERMINISTIC",
    "EVALSITE_QUEUE_LIMIT",
    "EVALSITE_RETRY_AFTER_MS",
    "EVALSITE_SHARDS",
)
"""Variables that play nodes and gpu workers must have alike."""


class JoinToken(NamedTuple):
    """What lets one machine in, once, as the node of one name; it is kept nowhere."""

    token: str
    expires_at: datetime


class JoinedNode(NamedTuple):
    """What a machine needs to play; the environment holds secrets of this node alone."""

    environment: dict[str, str]
    plugins: dict[str, str]
    """Each file in base64 by its path, which begins with the number of its folder."""


class NodeState(NamedTuple):
    """How a node is seen from here."""

    is_admitted: bool
    seen_at: datetime | None
    """When it was heard of last, in whichever of its lives."""


@transaction.atomic
def grant_join_token(name: str, *, minutes: int, actor: Actor, now: datetime) -> JoinToken:
    """Return a token by which one machine joins as the node of this name.

    It names the generation of the secrets that the node will get, so that it lets in only once.
    Raises BadInputError for a name that no node may have, ConflictError for one that is admitted
    or in quarantine, and where rights are not enforced.
    """
    check_name(name)
    _refuse_without_rights()
    if Worker.objects.filter(node=name, quarantined_at__isnull=False).exists():
        hint = "release it first, or choose another name"
        raise ConflictError(f"the node {name!r} is in quarantine: {hint}")
    node_key = NodeKey.objects.filter(name=name).first()
    if node_key is not None and node_key.revoked_at is None:
        hint = f"choose another name, or shut it out first: ./run manage node revoke {name}"
        raise ConflictError(f"a node {name!r} is admitted already: {hint}")
    generation = 1 if node_key is None else node_key.generation + 1
    until = int((now + timedelta(minutes=minutes)).timestamp())
    auditing.add_audit_row(
        "nodekey.invite",
        actor=actor,
        targets=[Target("nodekey", None, name)],
        reason="",
        touched={"generation": generation, "until": until},
        now=now,
    )
    token = make_pass(join_key(settings.SECRET_KEY), f"{name}:{generation}", until=until)
    return JoinToken(token, datetime.fromtimestamp(until, UTC))


@transaction.atomic
def join_node(token: str, *, now: datetime) -> JoinedNode:
    """Admit the node that a token is for, and return what it needs.

    Raises BadInputError for a token that lets nobody in, ConflictError for one that has been used
    (secrets are told once) and where rights are not enforced.
    """
    _refuse_without_rights()  # they may have been when the token was made
    name, generation = _read_token(token, now=now)
    key = admit_generation(name, generation, actor=Actor(f"token of {name}"), now=now)
    if key is None:
        reason = "has been used, or its node was admitted by others: ask for a new one"
        raise ConflictError(f"the token of {name!r} {reason}")
    agreed = {variable: os.environ[variable] for variable in AGREED if variable in os.environ}
    return JoinedNode({**agreed, **build_environment(key)}, dict(_read_plugins()))


def leave_node(name: str, *, node_key: str, now: datetime) -> None:
    """Shut out the node that shows its key; one that is out already stays so.

    Raises ForbiddenError without the key: a machine ends its own node and no other's.
    """
    if _authenticate(name, node_key).revoked_at is None:
        revoke_node(name, actor=Actor(f"node {name}"), now=now, reason="it left")


def look_at_node(name: str, *, node_key: str) -> NodeState:
    """Tell the node that shows its key how it is seen here. Raises ForbiddenError without it."""
    key = _authenticate(name, node_key)
    seen_at = Worker.objects.filter(node=name).values_list("last_seen_at", flat=True).first()
    return NodeState(is_admitted=key.revoked_at is None, seen_at=seen_at)


def _refuse_without_rights() -> None:
    """Raise ConflictError where a node could do everything at a server."""
    if open_to_all := " and ".join(settings.EVALSITE_UNENFORCED):
        raise ConflictError(
            f"rights are not enforced at {open_to_all} (/health/ says why): a machine that joins "
            "could do everything there. One that may is admitted by ./run manage node add"
        )


def _read_token(token: str, *, now: datetime) -> tuple[str, int]:
    """Return whom a token lets in, and the generation of its secrets. Raises BadInputError."""
    subject = token.rpartition(".")[0].rpartition(".")[0]
    try:
        check_pass(join_key(settings.SECRET_KEY), token, subject, now=now.timestamp())
    except PassError as error:
        raise BadInputError("token", f"{error} (./run manage node invite NAME)") from None
    name, _, generation = subject.rpartition(":")
    return name, int(generation)


def _authenticate(name: str, node_key: str) -> NodeKey:
    key = NodeKey.objects.filter(name=name).first()
    if key is None or not is_same_token(derive_secret(key, "reports"), node_key):
        raise ForbiddenError(f"no node {name!r:.80} has this key, or it has a new one since")
    return key


def _read_plugins() -> Iterator[tuple[str, str]]:
    """Yield path and content of every file of the plug-in folders.

    Raises ConflictError where they are too many to be sent.
    """
    left = MAX_PLUGIN_BYTES
    # Each folder stays one of its own: in which of two a file lies decides what is loaded.
    for number, root in enumerate(list_plugin_folders(""), 1):
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).parts
            if LEFT_OUT.intersection(parts) or any(part.startswith(".") for part in parts):
                continue
            if not path.is_file():
                continue
            left -= path.stat().st_size
            if left < 0:
                raise ConflictError(
                    f"the plug-ins here have over {MAX_PLUGIN_BYTES >> 20} MiB: start the node by "
                    "./run nodes start, which copies them by ssh"
                )
            yield "/".join((str(number), *parts)), b64encode(path.read_bytes()).decode()
