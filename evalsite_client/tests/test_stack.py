"""The whole way of a user on real processes: register, upload, schedule, wait, read, compare."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from evalsite_client import Client, Progress
from inference.tests.sealed import Folder
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack

pytestmark = pytest.mark.slow
WITHIN_S = 60


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, migrated_database: Path) -> Iterator[Stack]:
    """Run a web server and one play node."""
    var = tmp_path_factory.mktemp("client") / "var"
    var.mkdir()
    shutil.copy(migrated_database, var / "db.sqlite3")
    with start_stack(var, web=True, nodes=1, slots=1, gpus=1) as running:
        yield running


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    """Return a token as an administrator makes it."""
    scopes = [f"--scope={scope}" for scope in ("read", "submit", "operate", "worker")]
    command = [sys.executable, "manage.py", "token", "ada", *scopes]
    made = subprocess.run(
        command, cwd=ROOT, env=dict(stack.env), capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


@pytest.fixture
def client(stack: Stack, token: str) -> Iterator[Client]:
    """Return a client with the token."""
    with Client(stack.plan.addresses()["Board"], token) as one:
        yield one


def test_a_tournament_is_followed_to_its_ratings(client: Client, tmp_path: Path) -> None:
    board = client.leaderboards.open(name="c4", game="connect_four", opening_plies=2)
    names = ("random", "greedy")
    agents = [client.agents.register(name=n, game=board.game, policy=n) for n in names]
    made = client.tournaments.schedule(
        leaderboard="c4",
        agents=[agent.id for agent in agents],
        name="cup",
        n_matches=40,
        keeps_trajectories=True,
    )
    looks: list[Progress] = []
    done = client.tournaments.wait(made.id, progress=looks.append, timeout_s=WITHIN_S, poll_s=0.2)
    assert (done.state, done.n_done) == ("done", 40)
    assert looks[-1].tournament == done
    assert {agent.id for agent in agents} == {one.agent.id for one in _rated(client)}
    first, second = _rated(client)
    compared = client.leaderboards.compare("c4", first.agent.id, second.agent.id)
    assert compared.leader == first.agent
    assert compared.head_to_head.n_matches == 40
    outcomes = list(client.outcomes.list(tournament=made.id, page_size=7))
    assert len({outcome.match for outcome in outcomes}) == 40
    assert client.matches.get(outcomes[0].match).replacement is None
    paths = client.trajectories.download_all(made.id, tmp_path)
    assert len(paths) == client.trajectories.manifest(made.id).n_pieces > 0
    assert {outcome.trajectory for outcome in outcomes} == {path.stem for path in paths}


def _rated(client: Client) -> list[Any]:
    """Return the ratings once the rater has counted every match."""
    watched = client.tournaments.watch(1, poll_s=0.2)
    assert next(watched).tournament.is_over
    clock = client.leaderboards._transport.clock
    until_s = clock.monotonic() + WITHIN_S
    while client.leaderboards.get("c4").n_settled < 40:
        assert clock.monotonic() < until_s
        clock.sleep(0.2)
    return list(client.leaderboards.ratings("c4", page_size=1))


def test_a_checkpoint_goes_up_is_checked_and_comes_back(client: Client, tmp_path: Path) -> None:
    written = Folder(tmp_path / "made").add("mlp", {"hidden": 8}, seed=1)
    path = tmp_path / "made" / f"{written.checkpoint}.safetensors"
    sent = client.checkpoints.upload(path, name="run", step=3)
    assert sent.sha256 == written.checkpoint
    checked = client.checkpoints.wait(sent.sha256, timeout_s=WITHIN_S)
    assert (checked.state, checked.reason) == ("ready", "")
    assert [agent.name for agent in checked.agents] == ["run@3"]
    back = client.checkpoints.download(sent.sha256, tmp_path / "sealed.safetensors")
    assert sha256(back.read_bytes()).hexdigest() == sent.sha256


def test_the_command_is_there_in_any_folder(stack: Stack, token: str, tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("evalsite")
    address = stack.plan.addresses()["Board"]
    environment = {**os.environ, "EVALSITE_URL": address, "EVALSITE_TOKEN": token}
    done = subprocess.run(
        [script, "workers", "--json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {worker["node"] for worker in json.loads(done.stdout)} == {"node-1", "gpu-1"}
