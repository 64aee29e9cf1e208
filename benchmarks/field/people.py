"""Agents with their checkpoints and lineage, nodes, users with tokens: all but what is played."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from knox.models import AuthToken

from benchmarks.field.writing import moment, numbered, stored, write
from matches.access import tokens
from matches.models import Agent, Checkpoint, Scope, TokenAccess, Worker

ADMIN = "operator"
GAME = "connect_four"
OTHER_GAMES = ("chess", "go_9x9")
N_OTHER = 24
"""Agents of each other game."""

STEPS_A_RUN = 100
N_CHILDREN = 50
"""The first checkpoint of a run is the parent of so many of other runs."""
_WITH_WEIGHTS = 0.4
_POLICIES: tuple[tuple[str, dict[str, int]], ...] = (
    ("mcts", {"simulations": 100}),
    ("mcts", {"simulations": 1_000}),
    ("alphabeta", {"depth": 4}),
    ("greedy", {}),
    ("random", {}),
)


def fill(n_agents: int, *, now: datetime) -> None:
    """Write them; the agents of the main game have the ids 1 to n_agents."""
    n_weights = int(n_agents * _WITH_WEIGHTS)
    _write_checkpoints(n_weights, now=now)
    _write_agents(n_agents, n_weights, now=now)
    _write_nodes(max(20, n_agents // 10), now=now)
    _write_users(max(10, n_agents // 8), now=now)


def hash_of(number: int) -> str:
    """Return the name of a checkpoint."""
    return sha256(b"%d" % number).hexdigest()


def run_of(number: int) -> str:
    """Return the training run of a checkpoint."""
    return f"c4-resnet-{number // STEPS_A_RUN:03}"


def _write_checkpoints(n: int, *, now: datetime) -> None:
    names = (
        *("id", "sha256", "game", "architecture", "parameters", "run", "step", "parent_id"),
        *("source_name", "n_bytes", "state", "reason", "n_parameters", "row_ms"),
        *("measured_placement", "created_at", "checked_at"),
    )
    parameters = stored(Checkpoint, "parameters", {"hidden": [256, 256], "blocks": 8})
    at = moment(now - timedelta(days=3))

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(n):
            place, run = number % STEPS_A_RUN, number // STEPS_A_RUN
            parent = number - 1 if place else (0 if 0 < run <= N_CHILDREN else None)
            refused = number % 997 == 1
            yield (
                *(hash_of(number), GAME, "rescnn", parameters, run_of(number), 1_000 * place),
                *(None if parent is None else hash_of(parent), f"step_{place:06}.safetensors"),
                *(1_600_000, "refused" if refused else "ready"),
                *("a value is not finite" if refused else "", 400_000, 0.2, "local", at, at),
            )

    write(Checkpoint, names, numbered(rows()))


def _write_agents(n: int, n_weights: int, *, now: datetime) -> None:
    names = (
        *("id", "name", "game", "policy", "parameters", "checkpoint_id"),
        *("is_retired", "created_at"),
    )
    at = moment(now - timedelta(days=2))

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(n):
            if number < n_weights:
                name = f"{run_of(number)}@{1_000 * (number % STEPS_A_RUN):,}"
                made: tuple[Any, ...] = ("network", {"temperature": 0.0}, hash_of(number))
            else:
                policy, parameters = _POLICIES[number % len(_POLICIES)]
                name, made = f"{policy} number {number:,}", (policy, parameters, None)
            policy, parameters, weights = made
            shown = stored(Agent, "parameters", parameters)
            yield (name, GAME, policy, shown, weights, number % 50 == 1, at)
        plain = stored(Agent, "parameters", {})
        for game in OTHER_GAMES:
            for number in range(N_OTHER):
                yield (f"{game} {number}", game, "random", plain, None, False, at)

    write(Agent, names, numbered(rows()))


def _write_nodes(n: int, *, now: datetime) -> None:
    Worker.objects.bulk_create(
        Worker(
            node=f"node-{number:04}.europe-west4-b.example",
            incarnation=f"{number:032x}",
            slots=8,
            capabilities=["gpu"] if number % 10 == 1 else ["cpu", "spot"],
            versions={"evalsite": "0.1.0", "python": "3.11.9", "open_spiel": "1.6"},
            first_seen_at=now - timedelta(hours=6),
            last_seen_at=now if number % 4 else now - timedelta(minutes=30),
        )
        for number in range(n)
    )


def _write_users(n_tokens: int, *, now: datetime) -> None:
    operator = User.objects.create_superuser(ADMIN, password=None)
    others = User.objects.bulk_create(User(username=f"user-{n}") for n in range(n_tokens // 10 + 1))
    kept = AuthToken.objects.bulk_create(
        AuthToken(
            digest=sha256(b"token %d" % number).hexdigest() * 2,
            token_key=f"{number:08x}",
            user=others[number % len(others)],
            expiry=now + timedelta(days=90),
        )
        for number in range(n_tokens)
    )
    TokenAccess.objects.bulk_create(
        TokenAccess(token=token, name=f"machine {number}", scopes=["read"])
        for number, token in enumerate(kept)
    )
    kind = ContentType.objects.get_for_model(Agent)
    LogEntry.objects.bulk_create(
        LogEntry(
            user=operator,
            content_type=kind,
            object_id=str(number + 1),
            object_repr=f"agent {number}",
            action_flag=CHANGE,
            change_message="retired",
        )
        for number in range(n_tokens)
    )


def token() -> str:
    """Return the secret of a new token that may do everything."""
    operator = User.objects.get(username=ADMIN)
    return tokens.issue_token(operator, name="benchmark", scopes=list(Scope), days=1)[1]
