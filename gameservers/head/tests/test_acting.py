"""One decision over HTTP, by the moves of a game or by what is seen; recurrent ones, too."""

import json
from typing import Any

import numpy as np
import pytest

from arena.agent_passes import AskedAgent, make_agent_pass
from arena.games import registry as games
from arena.games.base import State, replay
from arena.messages import AgentOrder
from arena.policies.base import Row
from arena.policies.sampling import (
    action_probabilities,
    choose_greedy,
    sample_actions,
    seed_uniforms,
)
from gameservers.head.settings import HeadSettings
from gameservers.head.tests.running import PASS_KEY, Running
from inference.client import CheckpointRef, open_local
from inference.tests.sealed import BOARD, N_ACTIONS, Folder

FOR_EVER = 4_000_000_000
GAME = "connect_four"
MOVES = [3, 3, 2]
N_STATES = 16


def token_of(ref: CheckpointRef, *, game: str = GAME, n_states: int = 0, **chosen: float) -> str:
    plays = AgentOrder(
        "network", dict(chosen), ref.checkpoint, "local", ref.source, state_size=n_states
    )
    agent = AskedAgent(7, "ppo@1", game, list(BOARD), N_ACTIONS, plays)
    return make_agent_pass(PASS_KEY, agent, until=FOR_EVER)


def ask(head: Running, token: str, **body: Any) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"}
    status, answer = head.call("/act", json.dumps(body).encode(), headers=headers)
    return status, json.loads(answer)


def refuse(head: Running, token: str, **body: Any) -> str:
    status, answer = ask(head, token, **body)
    assert status == 400, answer
    return str(answer["detail"])


def play(moves: list[int]) -> State:
    return replay(games.get(GAME), 0, moves, opening_plies=0)


def test_a_position_is_decided_as_in_a_match_and_explained(
    head: Running, own: HeadSettings, ref: CheckpointRef
) -> None:
    state = play(MOVES)
    output = open_local(own.inference).infer(ref, state.observation(1)[None].astype(np.float32))
    status, answer = ask(head, token_of(ref), position={"actions": MOVES})
    assert status == 200, answer
    mask = state.legal_mask()[None]
    assert answer["action"] == choose_greedy(output.logits, mask)[0]
    assert answer["probabilities"] == pytest.approx(action_probabilities(output.logits, mask)[0])
    assert answer["value"] == pytest.approx(output.values[0])
    assert (answer["seat"], answer["agent"], answer["checkpoint"]) == (1, "ppo@1", ref.checkpoint)
    best = answer["advice"][0]
    assert (best["action"], best["name"]) == (answer["action"], state.action_name(answer["action"]))
    assert answer["name"] == best["name"]
    assert sum(row["probability"] for row in answer["advice"]) == pytest.approx(1)
    chances = [row["probability"] for row in answer["advice"]]
    assert chances == sorted(chances, reverse=True)


def test_what_is_drawn_is_what_the_match_of_this_seed_draws(
    head: Running, own: HeadSettings, ref: CheckpointRef
) -> None:
    state, token = play(MOVES), token_of(ref, temperature=2.0)
    output = open_local(own.inference).infer(ref, state.observation(1)[None].astype(np.float32))
    for game_seed in (5, 6, 7, 8):
        seeds = np.array([Row(state, 1, game_seed).seed()], np.uint64)
        drawn = sample_actions(
            output.logits, state.legal_mask()[None], seed_uniforms(seeds), temperature=2.0
        )
        position = {"actions": MOVES, "game_seed": game_seed}
        assert ask(head, token, position=position)[1]["action"] == drawn[0]
        # The seed of a decision may be one's own, too.
        assert ask(head, token, position=position, seed=int(seeds[0]))[1]["action"] == drawn[0]


def test_an_observation_is_enough_and_illegal_actions_get_nothing(
    head: Running, ref: CheckpointRef
) -> None:
    observation = play(MOVES).observation(1).tolist()
    _, by_moves = ask(head, token_of(ref), position={"actions": MOVES})
    _, all_legal = ask(head, token_of(ref), observation=observation)
    assert all_legal["probabilities"] == pytest.approx(by_moves["probabilities"])
    assert "advice" not in all_legal
    _, two_legal = ask(head, token_of(ref), observation=observation, legal=[0, 6])
    assert [p > 0 for p in two_legal["probabilities"]] == [True, *[False] * 5, True]
    assert two_legal["action"] in (0, 6)


def test_a_recurrent_agent_goes_on_from_the_state_of_its_last_answer(
    head: Running, own: HeadSettings, folder: Folder
) -> None:
    ref = folder.add("gru", {"width": "16"}, seed=3)
    token = token_of(ref, n_states=N_STATES)
    observation = play([]).observation(0).astype(np.float32)[None]
    network, states = open_local(own.inference), np.zeros((1, N_STATES), np.float32)
    detail = refuse(head, token, position={"actions": []})
    assert detail.startswith("state: missing")
    assert f"{N_STATES} zeros" in detail
    state = [0.0] * N_STATES
    for _ in range(2):
        status, answer = ask(head, token, position={"actions": []}, state=state)
        assert status == 200, answer
        output = network.infer(ref, observation, states)
        assert answer["state"] == pytest.approx(output.states[0].tolist())
        state, states = answer["state"], output.states


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "position or observation: send one"),
        ({"position": {"actions": []}, "observation": [0]}, "position or observation: send one"),
        ({"position": {"actions": []}, "legal": [1]}, "legal: leave it out"),
        ({"position": {"actions": [3] * 7}}, "position.actions.6: "),
        ({"position": {"actions": [7]}}, "position.actions.0: "),
        ({"position": {"actions": [0, 1, 0, 1, 0, 1, 0]}}, "the game is over"),
        ({"position": {"actions": [0] * 43}}, "a game of connect_four has at most 42"),
        ({"position": {"actions": [], "opening_plies": 42}}, "position.opening_plies: "),
        ({"position": {"actions": [], "opening_plies": 99}}, "the request cannot be read"),
        ({"position": {"actions": [], "parameters": {"x": 1}}}, "the request cannot be read"),
        ({"position": {"actions": [-1]}}, "the request cannot be read"),
        ({"position": [3]}, "the request cannot be read"),
        ({"observation": [[1]]}, "observation: must be numbers of the shape"),
        ({"observation": [0] * 126, "legal": []}, "legal: no action in row 0"),
        ({"observation": [0] * 126, "temperature": 1}, "seed: missing, and ppo@1 draws"),
    ],
)
def test_what_is_no_decision_is_refused_by_its_field(
    head: Running, ref: CheckpointRef, body: dict[str, Any], reason: str
) -> None:
    assert reason in refuse(head, token_of(ref), **body)


def test_a_game_that_is_not_here_or_cannot_be_replayed_needs_an_observation(
    head: Running, ref: CheckpointRef
) -> None:
    position: dict[str, Any] = {"actions": []}
    unknown = refuse(head, token_of(ref, game="no_such_game"), position=position)
    assert "no_such_game" in unknown
    assert unknown.endswith("send `observation` and `legal` instead")
    served = next(
        name
        for name in games.names()
        if games.get(name).spec.served or not games.get(name).spec.is_replayable
    )
    assert "cannot be replayed here" in refuse(head, token_of(ref, game=served), position=position)


def test_without_a_pass_for_an_agent_nobody_decides(head: Running) -> None:
    status, answer = ask(head, "agent:abc.1.00", position={"actions": []})
    assert (status, "was not made here" in answer["detail"]) == (403, True)
