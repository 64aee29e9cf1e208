"""Each version of a run that learns from matches plays first; a slice has what it played."""

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from experience.models import Round, TrainingRun
from experience.runs import ordering, releasing, rounds
from experience.runs.rounds import advance_rounds
from experience.runs.starting import stop_run
from experience.tests.made import ACTOR, begun, later, ordered
from experience.tests.rounds import GAME, admit, begin, play, publish
from matches.artifacts.agents import register_spelled_agent, retire_agent
from matches.errors import BadInputError
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Tournament
from matches.tests.weights import added, verdict

pytestmark = pytest.mark.django_db(transaction=True)
LEASE_S = ordering.LEASE.total_seconds()


@pytest.fixture
def run(stream_server: Redis) -> TrainingRun:
    """Return a run whose first slice is under way."""
    return begin()


def test_the_first_slice_has_no_matches_and_its_version_plays_before_the_next_one(
    run: TrainingRun, tmp_path: Path
) -> None:
    first = ordering.make_order(run, now=later(0))
    assert (first.state, first.files, first.checkpoint) == ("", [], "")
    one = publish(run, tmp_path, 0, n_steps=0, seed=0)
    assert one.tournament is None  # it is being checked
    admit(one)
    assert one.agent is not None
    assert (one.agent.name, one.agent.parameters) == ("stones@0 sampled", {"temperature": 1.0})
    assert ordered(run, at_s=2).order is None
    tournament = play(one, spare=True)
    assert (tournament.n_done, tournament.is_rated, tournament.state) == (4, False, "done")
    run = ordered(run, at_s=3)
    order = ordering.make_order(run, now=later(3))
    pieces = {piece.sha256: piece for piece in tournament.pieces.all()}
    hashes = [file.sha256 for file in order.files]
    assert (len(pieces), len(hashes)) == (3, 2), "the spare one has no outcome"
    assert hashes == sorted(hashes)
    link = f"/files/trajectories/{pieces[hashes[0]].order.hex}/{hashes[0]}?"
    assert order.files[0].source.startswith(link)
    assert (order.checkpoint, order.state) == (one.release.sha256, run.state_sha256)


def test_a_round_takes_its_turn_before_it_writes_what_other_runs_may_write(
    run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On PostgreSQL: who has the turn may wait for the agent, which a round would hold already.
    steps = list[str]()
    register = rounds._register_player
    monkeypatch.setattr(rounds, "take_turn_of_runs", lambda: steps.append("turn"))

    def note(*args: Any, **options: Any) -> Agent:
        steps.append("agent")
        return register(*args, **options)

    monkeypatch.setattr(rounds, "_register_player", note)
    admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    assert steps[:2] == ["turn", "agent"]


def test_ticks_begin_a_round_and_its_matches_once(run: TrainingRun, tmp_path: Path) -> None:
    one = admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    assert [advance_rounds(now=later(at_s)) for at_s in (3, 4)] == [0, 0]
    # As if control had been killed before it noted them.
    Round.objects.update(agent=None, tournament=None)
    assert advance_rounds(now=later(5)) == 1
    again = Round.objects.get()
    assert (again.agent, again.tournament) == (one.agent, one.tournament)
    assert Tournament.objects.count() == 1


def test_a_slice_that_was_lost_is_ordered_with_the_same_matches(
    run: TrainingRun, stream_server: Redis, tmp_path: Path
) -> None:
    play(admit(publish(run, tmp_path, 0, n_steps=0, seed=0)))
    first = ordering.make_order(ordered(run, at_s=3), now=later(3))
    stream_server.flushall()
    second = ordering.make_order(ordered(run, at_s=4 + LEASE_S), now=later(3))
    assert second.order != first.order
    assert (second.files, second.state) == (first.files, first.state)


def test_the_next_version_plays_and_the_one_before_plays_no_more(
    run: TrainingRun, tmp_path: Path
) -> None:
    before = admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    play(before)
    one = publish(ordered(run, at_s=3), tmp_path, 1, n_steps=20, seed=1)
    before.refresh_from_db()
    assert before.ended_at == later(1)
    names = {agent.name: agent.is_retired for agent in Agent.objects.all()}
    assert names == {
        "stones@0": True, "stones@0 sampled": True, "stones@20": False, "stones@20 sampled": False
    }  # fmt: skip
    assert one.agent is not None
    assert one.agent.checkpoint is not None
    assert one.agent.checkpoint.state == "ready", "its parent was checked, and is the same network"
    assert one.agent.checkpoint.parent_id == before.release.sha256
    assert before.tournament is not None
    assert one.tournament is not None
    assert one.tournament.seed != before.tournament.seed


def test_a_version_that_has_played_may_still_be_released(run: TrainingRun, tmp_path: Path) -> None:
    play(admit(publish(run, tmp_path, 0, n_steps=0, seed=0)))
    one = publish(ordered(run, at_s=3), tmp_path, 1, n_steps=20, seed=1)
    stop_run(run, actor=ACTOR, reason="", now=later(4))
    advance_rounds(now=later(5))
    releasing.advance_releases(now=later(6))
    one.release.refresh_from_db()
    assert one.release.agent is not None
    assert (one.release.state, one.release.agent.name) == ("candidate", "stones@20")
    assert not one.release.agent.is_retired


def test_a_network_that_is_refused_ends_the_run(run: TrainingRun, tmp_path: Path) -> None:
    admit(publish(run, tmp_path, 0, n_steps=0, seed=0), refusal="NaN in its answers")
    run.refresh_from_db()
    assert run.state == "failed"
    why = "the network of stones@0 sampled was refused: NaN in its answers"
    assert run.problem == f"version 0 cannot play: {why}"


def test_matches_that_nobody_will_play_end_the_run(run: TrainingRun, tmp_path: Path) -> None:
    one = admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    assert one.tournament is not None
    cancel_tournament(one.tournament, now=later(2))
    assert ordered(run, at_s=3).state == "failed"
    assert "cancelled, and none of its matches was played" in run.problem


def test_a_run_that_is_stopped_takes_its_matches_with_it(run: TrainingRun, tmp_path: Path) -> None:
    one = admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    assert advance_rounds(now=later(3)) == 1
    assert one.tournament is not None
    one.tournament.refresh_from_db()
    assert one.tournament.state == "cancelled"
    assert not Agent.objects.filter(is_retired=False).exists()
    assert advance_rounds(now=later(4)) == 0


def test_an_exploiter_plays_the_one_agent(stream_server: Redis, tmp_path: Path) -> None:
    run = begin("hunter", "exploiter", against="alphabeta:2")
    tournament = play(admit(publish(run, tmp_path, 0, n_steps=0, seed=0)))
    names = set(tournament.agents.values_list("name", flat=True))
    assert names == {"hunter@0 sampled", "alphabeta:2"}
    advance_rounds(now=later(9))
    assert not Agent.objects.get(name="alphabeta:2").is_retired


def test_an_exploiter_waits_until_the_agent_is_checked(
    stream_server: Redis, tmp_path: Path
) -> None:
    opponent = added(tmp_path, "fixed", game=GAME, seed=9)
    run = begin("hunter", "exploiter", against="fixed")
    one = admit(publish(run, tmp_path, 0, n_steps=0, seed=0))
    assert one.tournament is None
    verdict(opponent.checkpoint)
    assert advance_rounds(now=later(3)) == 1
    assert TrainingRun.objects.get(pk=run.pk).state == "running"


def test_what_another_run_has_begun_with_is_not_stored_twice(
    run: TrainingRun, tmp_path: Path
) -> None:
    publish(run, tmp_path, 0, n_steps=0, seed=0)
    one = admit(publish(begin("other"), tmp_path, 0, n_steps=0, seed=0))
    assert one.agent is not None
    assert one.agent.name == "other@0 sampled"
    assert one.tournament is not None


@pytest.mark.parametrize(
    ("game", "terms", "words"),
    [
        ("cart_pole", {"algorithm": "ppo_selfplay"}, "two seats"),
        ("kuhn_poker_3", {"algorithm": "ppo_selfplay"}, "two seats"),
        (GAME, {"algorithm": "exploiter", "parameters": {"against": "nobody"}}, "nobody"),
        (GAME, {"algorithm": "exploiter", "parameters": {"against": "alphabeta:3"}}, "retired"),
    ],
)
def test_what_could_not_play_is_refused(
    stream_server: Redis, game: str, terms: dict[str, Any], words: str
) -> None:
    retire_agent(register_spelled_agent("alphabeta:3", game=GAME))
    with pytest.raises(BadInputError, match=words):
        begun("stones", game, **terms)
