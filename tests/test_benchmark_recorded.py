"""Campaigns in real fields: what they draw is what was played, whoever sits first."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from arena.local_play import play
from benchmarks import verdicts
from benchmarks.campaigns import plans, recorded, recorded_ranks

pytestmark = pytest.mark.no_cover


def test_blocks_are_those_that_were_played() -> None:
    agents = ("random", "greedy", "alphabeta:2")
    played = play("tic_tac_toe", agents, 120, 3)
    blocks = recorded.group_blocks(played, agents)
    assert sum(2 * len(scores) for scores in blocks.values()) == len(played)
    seats = [
        match.ranks[match.lineup.index("random")] for match in played if "random" in match.lineup
    ]
    won = seats.count(0)
    drawn = sum(match.ranks == (0, 0) and "random" in match.lineup for match in played)
    points = sum(((1 + blocks[0, other]) / 2).sum() for other in (1, 2))
    assert points == won - drawn / 2


def test_a_pair_has_the_same_blocks_from_both_sides() -> None:
    scores = {(0, 1): np.array([[1, 0], [1, -1]])}
    world = recorded.Recorded(scores, 2)
    rng, pair = np.random.default_rng(1), (np.zeros(200, int), np.ones(200, int))
    assert {tuple(block) for block in world.play_blocks(*pair, 0.0, rng).tolist()} == {
        (1, 0),
        (1, -1),
    }
    turned = {tuple(block) for block in world.play_blocks(*pair[::-1], 0.0, rng).tolist()}
    assert turned == {(0, -1), (1, -1)}
    assert world.expect_points(*pair, 0.0)[0] == pytest.approx(0.625)
    assert world.find_lead(0, 1, 0.0) > 0 == world.find_lead(1, 0, 0.0)


def test_styles_of_poker_differ() -> None:
    names = recorded.FIELDS["kuhn_poker"]
    maniac, rock = names.index("maniac"), names.index("rock")
    world = recorded.play_reference(("kuhn_poker", 4_000))
    assert world.find_lead(maniac, rock, 0.0) > 0.5


def test_blocks_of_three_seats_are_those_that_were_played() -> None:
    names = recorded.FIELDS["kuhn_poker_3"][:4]
    played = play("kuhn_poker_3", {name: recorded.bet_like(name) for name in names}, 360, 3)
    blocks = recorded_ranks.group_ranks(played, names)
    assert sum(ranks.shape[0] * 3 for ranks in blocks.values()) == len(played)
    assert all(ranks.shape[1:] == (3, 3) for ranks in blocks.values())
    world = recorded_ranks.RecordedRanks(blocks, 4)
    score = sum(
        np.sign(
            match.ranks[match.lineup.index(names[3])] - match.ranks[match.lineup.index(names[0])]
        )
        for match in played
        if {names[0], names[3]} <= set(match.lineup)
    )
    lead, back = world.find_lead(0, 3, 0.0), world.find_lead(3, 0, 0.0)
    assert np.sign(lead - back) == np.sign(score) != 0
    drawn = world.play_block((3, 0, 1), np.random.default_rng(1))
    assert drawn.lineup == (0, 1, 3)
    assert any((drawn.ranks == ranks).all() for ranks in blocks[0, 1, 3])


def test_a_campaign_of_three_seats_names_the_best() -> None:
    world = recorded.play_reference(("kuhn_poker_3", 3_000))
    task = plans.Task("best", "kuhn_poker_3", 5, 1.0, 4_000, plans.CHOSEN, 1)
    held = recorded.hold_recorded((task, world, "campaigns"))
    assert held.verdict is not None
    assert held.verdict.subjects == (recorded.FIELDS["kuhn_poker_3"].index("rock"),)
    assert held.n_matches % 3 == 0
    assert not held.is_wrong


def test_players_of_backgammon_take_moves_by_their_place() -> None:
    legal = np.array([False, True, False, True, True])
    taken = {
        name: recorded.move_by_place(name)(np.zeros(2), legal, Random(1))
        for name in ("first_move", "middle_move", "last_move")
    }
    assert taken == {"first_move": 1, "middle_move": 3, "last_move": 4}


@pytest.mark.long
def test_campaigns_are_held_to_their_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "FIELDS", {"tic_tac_toe": recorded.FIELDS["tic_tac_toe"]})
    monkeypatch.setattr(recorded, "QUESTIONS", {"best": 400})
    path = tmp_path / "figures.json"
    options = ["--part", "recorded", "--n", "20", "--reference", "800", "--processes", "1"]
    assert verdicts.main([*options, "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["recorded"]
    assert [row["question"] for row in rows] == list(recorded.QUESTIONS)
    assert rows[0]["wrong"] <= 3
    assert rows[0]["decided"] == 20


def test_names_of_another_part_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for part, name in (("recorded", "gauss"), ("worlds", "chess")):
        with pytest.raises(SystemExit) as ended:
            verdicts.main(["--part", part, "--worlds", name])
        assert ended.value.code == 2
        assert f"none of part {part}; choose from" in capsys.readouterr().err


def test_a_campaign_of_three_seats_ends_with_its_budget() -> None:
    world = recorded.play_reference(("kuhn_poker_3", 600))
    # Late enough that a look is at more than one block more.
    task = plans.Task("rank_all", "kuhn_poker_3", 5, 0.01, 151, plans.CHOSEN, 1)
    held = recorded.hold_recorded((task, world, "campaigns"))
    assert (held.verdict, held.n_matches) == (None, 153)


def test_a_campaign_ends_with_its_budget() -> None:
    world = recorded.play_reference(("tic_tac_toe", 200))
    task = plans.Task("best", "tic_tac_toe", 5, 1.0, 40, plans.CHOSEN, 1)
    held = recorded.hold_recorded((task, world, "campaigns"))
    assert held.n_matches <= 44
