"""Who is admitted as a play node: rows that say so, and the secrets derived from them."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction

from arena.acl import HEAD_NODE, ROLES, Server, role_password, role_user
from arena.credentials import (
    NAME_RULE,
    Purpose,
    gpu_key,
    head_key,
    is_node_name,
    node_secret,
    node_user,
    pass_key,
    trainer_key,
    with_login,
)
from matches.errors import BadInputError, ConflictError
from matches.models import NodeKey, Worker
from matches.store import auditing
from matches.store.auditing import Actor


@transaction.atomic
def add_node(name: str, *, actor: Actor, now: datetime) -> NodeKey:
    """Admit a node; one that was revoked comes back with new secrets, one that is in stays.

    Raises BadInputError for a name that no node may have.
    """
    check_name(name)
    key, is_new = NodeKey.objects.get_or_create(name=name, defaults={"created_at": now})
    if key.revoked_at is not None:
        key.revoked_at, is_new = None, True
        # Secrets are derived from it: whoever has the old ones stays out.
        key.generation += 1
        key.save(update_fields=("generation", "revoked_at"))
    if is_new:
        _audit_node("nodekey.admit", key, actor=actor, now=now)
    return key


@transaction.atomic
def admit_generation(name: str, generation: int, *, actor: Actor, now: datetime) -> NodeKey | None:
    """Admit a node whose secrets are the first of this generation.

    None: such a node has been admitted before. Raises BadInputError for a name that no node may
    have.
    """
    check_name(name)
    if generation == 1:
        key, is_new = NodeKey.objects.get_or_create(name=name, defaults={"created_at": now})
        if not is_new:
            return None
    else:
        # The conditional UPDATE is the lock: of two that come at once one changes the row.
        earlier_keys = NodeKey.objects.filter(name=name, generation=generation - 1)
        if not earlier_keys.exclude(revoked_at=None).update(generation=generation, revoked_at=None):
            return None
        key = NodeKey.objects.get(name=name)
    _audit_node("nodekey.admit", key, actor=actor, now=now)
    return key


def check_name(name: str) -> None:
    """Raise BadInputError for a name that no node may have."""
    if not is_node_name(name):
        raise BadInputError("name", f"{name!r:.80} is no name of a node: {NAME_RULE}")
    if name == HEAD_NODE:
        reason = "the evaluation head's answers come by that name, and this node could take them"
        raise BadInputError("name", f"{name!r}: {reason}: choose another")
    # "a" and "node-a" would share one user at the servers, and with it their rights.
    user = node_user(name)
    for other in NodeKey.objects.filter(name__in={user, user.removeprefix("node-")} - {name}):
        raise BadInputError("name", f"{name!r} is too like the node {other.name!r}: choose another")
    if Worker.objects.filter(node=name).exclude(game="").exists():
        raise BadInputError("name", f"{name!r} is the name of a game server: choose another")


@transaction.atomic
def replace_secrets(name: str, *, actor: Actor, now: datetime) -> NodeKey:
    """Give a node new secrets; the old ones are refused from now on. Raises ConflictError."""
    key = _get_admitted(name)
    key.generation += 1
    key.save(update_fields=("generation",))
    _audit_node("nodekey.replace", key, actor=actor, now=now)
    return key


@transaction.atomic
def revoke_node(name: str, *, actor: Actor, now: datetime, reason: str = "") -> NodeKey:
    """Let a node in no more. Raises ConflictError for one that is not admitted."""
    key = _get_admitted(name)
    key.revoked_at = now
    key.save(update_fields=("revoked_at",))
    _audit_node("nodekey.revoke", key, actor=actor, now=now, reason=reason)
    return key


def add_missing(names: Iterable[str], *, actor: Actor, now: datetime) -> None:
    """Admit the nodes that nobody has decided about; one that was revoked stays out."""
    decided = set(NodeKey.objects.values_list("name", flat=True))
    for name in names:
        if name not in decided:
            add_node(name, actor=actor, now=now)


def find_key(name: str) -> NodeKey | None:
    """Return the row of a node that is admitted, or None."""
    return NodeKey.objects.filter(name=name, revoked_at=None).first()


def list_admitted() -> list[NodeKey]:
    """Return the nodes that the servers let in: none in quarantine."""
    quarantined = Worker.objects.filter(quarantined_at__isnull=False).values("node")
    return list(NodeKey.objects.filter(revoked_at=None).exclude(name__in=quarantined))


def derive_secret(key: NodeKey, purpose: Purpose) -> str:
    """Return what a node proves itself with: at a server, or in its reports."""
    return node_secret(settings.SECRET_KEY, purpose, key.name, key.generation)


def build_environment(key: NodeKey) -> dict[str, str]:
    """Return the variables of a node's environment that nobody else may have."""
    user = node_user(key.name)
    variables = {"REDIS_URL": settings.REDIS_URL}
    if _is_enforced("broker"):
        variables["REDIS_URL"] = with_login(settings.REDIS_URL, user, derive_secret(key, "broker"))
    if _is_enforced("fast"):
        fast_url = with_login(settings.FAST_REDIS_URL, user, derive_secret(key, "fast"))
        variables["EVALSITE_INFERENCE_URL"] = fast_url
    identity = {"EVALSITE_NODE": key.name, "EVALSITE_NODE_KEY": derive_secret(key, "reports")}
    return {**variables, "EVALSITE_SITE_URL": settings.EVALSITE_SITE_URL, **identity}


def build_gpu_environment() -> dict[str, str]:
    """Return the variables of a gpu worker's environment; all of them share a user."""
    return {**_build_role_environment("gpu"), "EVALSITE_NODE_KEY": gpu_key(settings.SECRET_KEY)}


def build_trainer_environment() -> dict[str, str]:
    """Return the variables of a trainer's environment; all of them share a user.

    Raises ConflictError on a stack that keeps no experience.
    """
    if not settings.STREAM_REDIS_URL:
        raise ConflictError("no experience is kept here: start it with ./run up --experience")
    key = {"EVALSITE_NODE_KEY": trainer_key(settings.SECRET_KEY)}
    return {**_build_role_environment("trainer"), **key}


def build_head_environment() -> dict[str, str]:
    """Return the variables of the evaluation head's environment that nobody else may have."""
    keys = {
        "EVALSITE_NODE_KEY": head_key(settings.SECRET_KEY),
        "EVALSITE_PASS_KEY": pass_key(settings.SECRET_KEY),
    }
    return {**_build_role_environment("head"), **keys}


def _build_role_environment(role: str) -> dict[str, str]:
    urls: dict[Server, str] = {
        "broker": settings.REDIS_URL,
        "fast": settings.FAST_REDIS_URL,
        "stream": settings.STREAM_REDIS_URL,
    }
    variables = {"broker": "REDIS_URL", "fast": "FAST_REDIS_URL", "stream": "STREAM_REDIS_URL"}
    own = {}
    for server, url in urls.items():
        if ROLES[role].rights_at(server) is None:
            continue
        password = role_password(settings.SECRET_KEY, server, role)
        is_enforced = _is_enforced(server)
        own[variables[server]] = with_login(url, role_user(role), password) if is_enforced else url
    return {**own, "EVALSITE_SITE_URL": settings.EVALSITE_SITE_URL}


def _is_enforced(server: Server) -> bool:
    return server not in settings.EVALSITE_UNENFORCED


def _get_admitted(name: str) -> NodeKey:
    key = find_key(name)
    if key is None:
        raise ConflictError(f"no node {name!r} is admitted: `node list` shows those that are")
    return key


def _audit_node(
    action: str, key: NodeKey, *, actor: Actor, now: datetime, reason: str = ""
) -> None:
    touched = {"generation": key.generation}
    auditing.add_audit_row(
        action, actor=actor, targets=[key], reason=reason, touched=touched, now=now
    )
