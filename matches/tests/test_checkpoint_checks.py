"""Checks: ordered on the gpu queue while a gpu worker lives, decided by the first verdict."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from arena.errors import UnknownNameError
from arena.games import registry as games
from arena.message_tokens import checkpoint_token
from arena.messages import CheckOrder, read_check
from arena.queues import gpu_queue
from matches import control, dispatch
from matches.artifacts import checkpoint_checks
from matches.errors import BrokerError
from matches.ledger import planning
from matches.models import Agent, Checkpoint, Tournament
from matches.store import selectors, signing
from matches.store.signing import derive_key
from matches.tests import factories as make
from matches.tests.weights import added, verdict

pytestmark = pytest.mark.django_db
Stored = Callable[[], list[str]]


def _gpu(seconds: float = 0, node: str = "gpu-1") -> None:
    make.alive(node=node, capabilities=["gpu"], slots=1, now=make.later(seconds))


def _ordered(broker: Redis) -> list[CheckOrder]:
    """Take all checks off the real queue."""
    orders = []
    while (raw := broker.rpop(gpu_queue(0))) is not None:
        message: Any = json.loads(raw)  # type: ignore[arg-type]
        assert message["headers"]["task"] == "inference.check"
        (wire,), _, _ = json.loads(base64.b64decode(message["body"]))
        orders.append(read_check(wire))
    return orders


def _row(agent: Agent) -> Checkpoint:
    return Checkpoint.objects.get(agents=agent)


def test_a_check_says_what_to_fetch_and_what_must_fit(broker: Redis, tmp_path: Path) -> None:
    row = _row(added(tmp_path))
    _gpu()
    control.do_duties(now=make.NOW)
    (order,) = _ordered(broker)
    assert (order.checkpoint, order.game, order.n_actions) == (row.sha256, "connect_four", 7)
    assert order.observation_shape == [3, 6, 7]
    assert order.source == signing.sign_link(
        "GET", f"/files/checkpoints/{row.sha256}", now=make.NOW
    )
    assert order.token == checkpoint_token(derive_key(), row.sha256)


def test_without_a_gpu_worker_a_check_waits_and_says_so(broker: Redis, tmp_path: Path) -> None:
    added(tmp_path)
    make.alive()
    assert checkpoint_checks.order_due_checks(now=make.NOW) == 0
    assert "none is alive" in selectors.describe_missing_for_check(now=make.NOW)
    _gpu()
    assert selectors.describe_missing_for_check(now=make.NOW) == ""
    assert checkpoint_checks.order_due_checks(now=make.later(31)) == 0, (
        "it has not been heard of for too long"
    )


def test_a_check_without_a_verdict_is_ordered_again_after_a_while(
    broker: Redis, tmp_path: Path
) -> None:
    added(tmp_path)
    for seconds, n_sent in ((0, 1), (1, 0), (29, 0), (31, 1)):
        _gpu(seconds)
        assert checkpoint_checks.order_due_checks(now=make.later(seconds)) == n_sent


def test_few_checks_wait_at_a_time_and_new_ones_come_first(broker: Redis, tmp_path: Path) -> None:
    rows = [_row(added(tmp_path, f"run-{seed}", seed=seed)) for seed in range(5)]
    _gpu()
    sent = []
    for seconds in (0, 1, 31):
        _gpu(seconds)
        checkpoint_checks.order_due_checks(now=make.later(seconds))
        sent.append([order.checkpoint for order in _ordered(broker)])
    hashes = [row.sha256 for row in rows]
    assert sent == [hashes[:2], [], hashes[2:4]]


def test_a_checkpoint_whose_check_never_ends_is_refused(broker: Redis, tmp_path: Path) -> None:
    row = _row(added(tmp_path))
    for n in range(checkpoint_checks.MAX_ASKED + 1):
        _gpu(40 * n)
        checkpoint_checks.order_due_checks(now=make.later(40 * n))
    row.refresh_from_db()
    assert row.state == Checkpoint.State.REFUSED
    assert "no verdict came of 10 checks" in row.reason


def test_a_check_that_the_broker_refuses_is_taken_back(
    broker: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: CheckOrder) -> None:
        raise BrokerError("no")

    row = _row(added(tmp_path))
    _gpu()
    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "publish_check", refuse)
        assert checkpoint_checks.order_due_checks(now=make.NOW) == 0
    row.refresh_from_db()
    assert (row.asked_at, row.n_asked) == (None, 0)
    assert checkpoint_checks.order_due_checks(now=make.NOW) == 1


def test_a_game_that_is_gone_refuses_the_checkpoint_and_not_the_tick(
    broker: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str) -> None:
        raise UnknownNameError("game", name, [])

    row = _row(added(tmp_path))
    _gpu()
    monkeypatch.setattr(games, "get", gone)
    assert checkpoint_checks.order_due_checks(now=make.NOW) == 0
    row.refresh_from_db()
    assert "its game cannot be played here" in row.reason


@pytest.mark.parametrize(("row_ms", "placement"), [(0.29, "local"), (0.3, "gpu")])
def test_a_verdict_places_the_network_by_its_speed(
    broker: Redis, tmp_path: Path, row_ms: float, placement: str
) -> None:
    agent = added(tmp_path)
    verdict(agent.checkpoint, row_ms=row_ms, state_size=5)
    row = _row(agent)
    agent.refresh_from_db()
    assert (row.state, row.measured_placement, agent.placement) == ("ready", placement, placement)
    assert (row.n_parameters, row.state_size, row.row_ms) == (32, 5, row_ms)
    assert row.checked_at == make.NOW


def test_a_placement_that_was_forced_stays(broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path, placement="gpu")
    verdict(agent.checkpoint, row_ms=0.01)
    agent.refresh_from_db()
    assert (agent.placement, _row(agent).measured_placement) == ("gpu", "local")


def test_a_refusal_keeps_the_reason_and_deletes_the_file(
    broker: Redis,
    tmp_path: Path,
    stored: Stored,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    row = _row(added(tmp_path))
    with django_capture_on_commit_callbacks(execute=True):
        verdict(row, refusal="weight body.0 holds\0NaN")
    assert (row.state, row.reason) == ("refused", "weight body.0 holds NaN")
    assert not stored()


@pytest.mark.parametrize("token", ["", "forged", "ü"])
def test_a_verdict_without_its_token_changes_nothing(
    broker: Redis, tmp_path: Path, token: str
) -> None:
    row = _row(added(tmp_path))
    verdict(row, refusal="a lie", token=token)
    assert row.state == Checkpoint.State.CHECKING


def test_only_the_first_verdict_counts(broker: Redis, tmp_path: Path, stored: Stored) -> None:
    row = _row(added(tmp_path))
    verdict(row)
    verdict(row, refusal="second thoughts")
    assert (row.state, row.reason) == ("ready", "")
    assert stored() == [row.sha256]


def test_a_verdict_on_an_unknown_checkpoint_is_refused(broker: Redis, tmp_path: Path) -> None:
    row = _row(added(tmp_path))
    other = Checkpoint(sha256="0" * 64)
    other.refresh_from_db = lambda *_, **__: None  # type: ignore[method-assign]
    verdict(other, refusal="no")
    row.refresh_from_db()
    assert row.state == Checkpoint.State.CHECKING


def _tournament(tmp_path: Path) -> tuple[Tournament, Checkpoint]:
    net = added(tmp_path, "net")
    return make.scheduled(12, game="connect_four", agents=["random", net]), _row(net)


def test_a_tournament_waits_for_its_checkpoints(broker: Redis, tmp_path: Path) -> None:
    tournament, row = _tournament(tmp_path)
    assert planning.plan_scheduled(now=make.NOW) == 0
    assert "check of 1 checkpoint(s): a gpu worker" in selectors.describe_missing(
        tournament, now=make.NOW
    )
    _gpu()
    assert "under way" in selectors.describe_missing(tournament, now=make.NOW)
    verdict(row)
    assert planning.plan_scheduled(now=make.NOW) == 12


def test_a_tournament_whose_checkpoint_is_refused_is_cancelled_with_the_reason(
    broker: Redis, tmp_path: Path
) -> None:
    tournament, row = _tournament(tmp_path)
    verdict(row, refusal="NaN weights")
    assert planning.plan_scheduled(now=make.NOW) == 0
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.CANCELLED
    assert "the checkpoint of 'net' was refused: NaN weights" in tournament.problem


def test_a_network_that_differs_in_its_weights_alone_takes_the_verdict_on_another(
    tmp_path: Path,
) -> None:
    first, same = added(tmp_path, "one", seed=1), added(tmp_path, "two", seed=2)
    larger = added(tmp_path, "three", seed=3, parameters={"hidden": "64"})
    assert first.checkpoint is not None
    assert same.checkpoint is not None
    assert larger.checkpoint is not None
    assert not checkpoint_checks.adopt_verdict(same.checkpoint, first.checkpoint)  # it has none yet
    verdict(first.checkpoint, row_ms=2.0)
    assert not checkpoint_checks.adopt_verdict(larger.checkpoint, first.checkpoint)
    assert checkpoint_checks.adopt_verdict(same.checkpoint, first.checkpoint)
    same.refresh_from_db()
    assert same.checkpoint is not None
    assert (same.checkpoint.state, same.checkpoint.row_ms, same.placement) == ("ready", 2.0, "gpu")
    assert not checkpoint_checks.adopt_verdict(same.checkpoint, first.checkpoint)
