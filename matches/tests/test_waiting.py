"""Why nothing plays, and which tournament waits for whom: as the page of the system says it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena.needs import Needs
from matches.ledger.quarantine import quarantine_worker
from matches.models import Checkpoint, Match, Tournament, Worker
from matches.operations.system.display import format_state
from matches.operations.system.sample import Sample, SystemState
from matches.operations.system.sampling import take_sample
from matches.store import disk
from matches.store.auditing import Actor
from matches.tests import factories as make
from matches.tests.factories import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def _look() -> Sample:
    return take_sample(now=NOW, last=None)


def _waits(sample: Sample) -> dict[str, str]:
    return {tournament.name: tournament.waits_for for tournament in sample.tournaments}


def _plan(name: str, n_matches: int = 12, **options: object) -> Tournament:
    tournament = make.planned(n_matches, board=name, **options)
    Tournament.objects.filter(pk=tournament.pk).update(name=name)
    return tournament


def test_with_the_only_node_in_quarantine_a_banner_says_so() -> None:
    make.alive()
    assert _look().standstill == ""
    quarantine_worker(Worker.objects.get(), actor=Actor("anna"), reason="it overheats", now=NOW)
    _plan("nightly")
    sample = _look()
    assert sample.standstill == (
        "Nothing can play: the only play node alive, node-1 (it overheats), is in quarantine. "
        "Release it, or start another: ./run stop, then ./run up --nodes 2. 1 tournament waits."
    )
    assert _waits(sample)["nightly"].startswith("waits for a play node with cpu")
    state = format_state(SystemState(sample=sample, history=[], control_at=NOW))
    assert state["standstill"] == sample.standstill
    tables = {table["name"]: table["rows"] for table in state["tables"]}
    tones = {row["cells"][0]: row["tone"] for row in tables["queues"]}
    assert tones["play.*"] == "bad", "its queue is empty, and nobody takes from it"
    assert tables["tournaments"][0]["tone"] == "bad"


def test_without_any_node_it_says_how_to_start_one() -> None:
    expected = (
        "Nothing can play: no play node is alive; start one: ./run stop, then ./run up --nodes 1."
    )
    assert _look().standstill == expected
    make.alive(now=make.later(-120))
    assert "lost within the last hour: node-1" in _look().standstill
    make.alive(node="gpu-1", capabilities=["gpu"])
    assert "no play node is alive" in _look().standstill, "a gpu worker plays nothing"


def test_a_full_disk_stands_still_though_nodes_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    make.alive()
    monkeypatch.setattr(disk, "describe_shortage", lambda: "the disk has 3 MB left")
    assert _look().standstill.startswith("Nothing is sent: the disk has 3 MB left.")


def test_a_tournament_says_behind_whom_it_waits() -> None:
    make.alive(slots=2)
    first, second = _plan("nightly"), _plan("spring")
    make.ordered(first, 5)
    sample = _look()
    assert _waits(sample) == {"nightly": "", "spring": "waits behind nightly on 2 slots"}
    assert [(t.name, t.n_sent) for t in sample.tournaments] == [("spring", 0), ("nightly", 5)]
    make.alive(node="node-2", slots=4)
    assert _waits(_look())["spring"] == "", "the other node has room for it"
    make.ordered(second, 5, node="node-2")
    assert set(_waits(_look()).values()) == {""}


def test_what_was_sent_and_is_not_begun_waits_behind_what_plays() -> None:
    make.alive(slots=2)
    first, second = _plan("nightly"), _plan("spring", seed=1)
    playing, queued = make.ordered(first, 5), make.ordered(second, 12)
    assert set(_waits(_look()).values()) == {""}, "the node may begin either"
    make.start(playing)
    assert _waits(_look()) == {"nightly": "", "spring": "waits behind nightly on 2 slots"}
    make.start(queued)
    assert set(_waits(_look()).values()) == {""}


def test_tournaments_of_one_name_are_told_apart_by_their_numbers() -> None:
    make.alive(slots=2)
    first, second = _plan("a"), _plan("b", seed=1)
    Tournament.objects.update(name="evaluate")
    make.start(make.ordered(first, 5))
    assert _waits(_look()) == {
        f"evaluate ({first.pk})": "",
        f"evaluate ({second.pk})": f"waits behind evaluate ({first.pk}) on 2 slots",
    }


def test_a_tournament_whose_matches_nobody_can_play_says_what_is_missing() -> None:
    make.alive()
    tournament = _plan("networks")
    Match.objects.filter(tournament=tournament).update(needs=Needs("cpu+gpu"))
    waits = _waits(_look())["networks"]
    assert waits == (
        "waits for a gpu worker: none is alive (start one: ./run stop, then ./run up --gpus 1)"
    )
    assert _look().standstill == "", "another tournament could play"
    Match.objects.filter(tournament=tournament, sequence=1).update(needs=Needs("cpu"))
    assert _waits(_look())["networks"] == "", "some of its matches can be played"


def test_a_tournament_waits_for_the_check_of_its_checkpoint() -> None:
    make.alive()
    tournament = make.scheduled()
    checkpoint = Checkpoint.objects.create(
        sha256="a" * 64,
        game="skill_game",
        architecture="mlp",
        run="r",
        n_bytes=1,
        state=Checkpoint.State.CHECKING,
        created_at=NOW,
    )
    agent = tournament.agents.order_by("pk")[0]
    agent.checkpoint = checkpoint
    agent.save()
    assert _waits(_look())["test"].startswith("waits for the check of its checkpoints: a gpu")


def test_more_tournaments_cost_no_more_queries() -> None:
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            _look()
        return len(queries)

    make.alive()
    make.ordered(_plan("a"), 5)
    before = n_queries()
    for name in "bcdef":
        _plan(name, seed=ord(name))
    assert n_queries() == before
