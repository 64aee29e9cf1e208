"""Agents with their checkpoints and lineage, nodes, users with tokens: all but what is played."""

from datetime import datetime, timedelta
from hashlib import sha256

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from knox.models import AuthToken

from benchmarks.field.writing import write_rows
from matches.models import Agent, Checkpoint, TokenAccess, Worker

ADMIN = "operator"
GAME = "connect_four"
OTHER_GAMES = ("chess", "go_9x9")
# Agents of each other game.
N_OTHER = 24
STEPS_A_RUN = 100
# The first checkpoint of a run is the parent of so many of other runs.
N_CHILDREN = 50
NETWORK_SHARE = 0.4
POLICIES: tuple[tuple[str, dict[str, int]], ...] = (
    ("mcts", {"simulations": 100}),
    ("mcts", {"simulations": 1_000}),
    ("alphabeta", {"depth": 4}),
    ("greedy", {}),
    ("random", {}),
)


def write_people(n_agents: int, *, now: datetime) -> None:
    """Write all of them; the agents of the main game have the ids 1 to n_agents."""
    n_networks = int(n_agents * NETWORK_SHARE)
    _write_checkpoints(n_networks, now=now)
    _write_agents(n_agents, n_networks, now=now)
    _write_nodes(max(20, n_agents // 10), now=now)
    _write_users(max(10, n_agents // 8), now=now)


def checkpoint_hash(number: int) -> str:
    return sha256(b"%d" % number).hexdigest()


def node_name(number: int) -> str:
    return f"node-{number:04}.europe-west4-b.example"


def _run_name(number: int) -> str:
    return f"c4-resnet-{number // STEPS_A_RUN:03}"


def _parent_hash(number: int) -> str | None:
    """Return the parent of a checkpoint: the one before it, or the first one's for a new run."""
    run, place = divmod(number, STEPS_A_RUN)
    if place:
        return checkpoint_hash(number - 1)
    return checkpoint_hash(0) if 0 < run <= N_CHILDREN else None


def _write_checkpoints(n: int, *, now: datetime) -> None:
    # A few, to be found by the filter for what was refused.
    is_refused = [number % 997 == 1 for number in range(n)]
    write_rows(
        Checkpoint,
        n,
        id=range(1, n + 1),
        sha256=[checkpoint_hash(number) for number in range(n)],
        game=GAME,
        architecture="rescnn",
        parameters={"hidden": [256, 256], "blocks": 8},
        run=[_run_name(number) for number in range(n)],
        step=[1_000 * (number % STEPS_A_RUN) for number in range(n)],
        parent_id=[_parent_hash(number) for number in range(n)],
        source_name=[f"step_{number % STEPS_A_RUN:06}.safetensors" for number in range(n)],
        n_bytes=1_600_000,
        state=["refused" if refused else "ready" for refused in is_refused],
        reason=["a value is not finite" if refused else "" for refused in is_refused],
        n_parameters=400_000,
        row_ms=0.2,
        measured_placement="local",
        created_at=now - timedelta(days=3),
        checked_at=now - timedelta(days=3),
    )


def _write_agents(n: int, n_networks: int, *, now: datetime) -> None:
    # Agents without weights: their pages have no lineage.
    searches = [(number, *POLICIES[number % len(POLICIES)]) for number in range(n_networks, n)]
    rows: list[tuple[object, ...]] = [
        (
            f"{_run_name(number)}@{1_000 * (number % STEPS_A_RUN):,}",
            *(GAME, "network", {"temperature": 0.0}, checkpoint_hash(number), number % 50 == 1),
        )
        for number in range(n_networks)
    ]
    rows += [
        (f"{policy} number {number:,}", GAME, policy, parameters, None, number % 50 == 1)
        for number, policy, parameters in searches
    ]
    for game in OTHER_GAMES:
        rows += [(f"{game} {number}", game, "random", {}, None, False) for number in range(N_OTHER)]
    names = ("name", "game", "policy", "parameters", "checkpoint_id", "is_retired")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    ids, created_at = range(1, len(rows) + 1), now - timedelta(days=2)
    write_rows(Agent, len(rows), id=ids, created_at=created_at, **columns)


def _write_nodes(n: int, *, now: datetime) -> None:
    Worker.objects.bulk_create(
        Worker(
            node=node_name(number),
            incarnation=f"{number:032x}",
            slots=8,
            capabilities=["gpu"] if number % 10 == 1 else ["cpu", "spot"],
            versions={"evalsite": "0.1.0", "python": "3.11.9", "open_spiel": "1.6"},
            first_seen_at=now - timedelta(hours=6),
            # A lost node is shown in another way than one that is alive.
            last_seen_at=now if number % 4 else now - timedelta(minutes=30),
        )
        for number in range(n)
    )


def _write_users(n_tokens: int, *, now: datetime) -> None:
    operator = User.objects.create_superuser(ADMIN, password=None)
    others = User.objects.bulk_create(User(username=f"user-{n}") for n in range(n_tokens // 10 + 1))
    tokens = AuthToken.objects.bulk_create(
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
        for number, token in enumerate(tokens)
    )
    numbers = range(1, n_tokens + 1)
    write_rows(
        LogEntry,
        n_tokens,
        user_id=operator.pk,
        content_type_id=ContentType.objects.get_for_model(Agent).pk,
        object_id=[str(number) for number in numbers],
        object_repr=[f"agent {number - 1}" for number in numbers],
        action_flag=CHANGE,
        change_message="retired",
    )
