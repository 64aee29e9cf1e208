"""Policies whose decisions come over a line: the messages, UCI, and what may go wrong."""

import json
from typing import Any

import pytest

from arena.errors import (
    AgentDiedError,
    AgentSilentError,
    IllegalActionError,
    InvalidOutputError,
    ParameterError,
    UnusableProgramError,
)
from arena.games import registry as games
from arena.policies import registry as policies
from arena.policies.base import Row
from arena.policies.line_policy import LinePolicy
from arena.policies.tests.lines import Fault, ScriptedLine, raising
from arena.policies.tests.positions import build, row_after

CHESS, TICTAC, POKER = map(games.get, ("chess", "tic_tac_toe", "kuhn_poker"))
GAMES = {"program:mine": TICTAC, "uci": CHESS}
DIED = AgentDiedError("it exited with 3")
# As in an answer; the hello speaks of action_names.
ACTION = '"action"'
EVERY = pytest.mark.parametrize("text", list(GAMES))


def policy_of(text: str, line: ScriptedLine, game: Any = None) -> LinePolicy:
    policy = build(text, game or GAMES[text.partition(",")[0]])
    assert isinstance(policy, LinePolicy)
    policy.attach(line)
    return policy


def decide(policy: LinePolicy, text: str, game: Any = None) -> int:
    (action,) = policy.act([row_after(game or GAMES[text.partition(",")[0]], [])])
    return action


@EVERY
def test_one_program_decides_many_matches(text: str) -> None:
    line = ScriptedLine()
    policy = policy_of(text, line)
    policy.prepare()
    assert [decide(policy, text) for _ in range(3)] == [
        row_after(GAMES[text], []).state.legal_actions()[0]
    ] * 3
    assert line.n_opened == 1


@EVERY
def test_one_that_dies_is_started_anew_and_asked_once_more(text: str) -> None:
    word = "bestmove" if text == "uci" else ACTION
    line = ScriptedLine(**{word: raising(DIED, times=1)})
    policy = policy_of(text, line)
    decide(policy, text)
    assert line.n_opened == 2


@EVERY
def test_one_that_dies_again_is_at_fault_and_the_next_decision_finds_a_fresh_one(
    text: str,
) -> None:
    word = "bestmove" if text == "uci" else ACTION
    line = ScriptedLine(**{word: raising(DIED, times=2)})
    policy = policy_of(text, line)
    with pytest.raises(AgentDiedError, match="exited with 3"):
        decide(policy, text)
    decide(policy, text)
    assert line.n_opened == 3


@EVERY
@pytest.mark.parametrize("error", [DIED, InvalidOutputError("no message")])
def test_one_that_never_said_hello_cannot_be_used(text: str, error: Exception) -> None:
    word = "uciok" if text == "uci" else "hello"
    line = ScriptedLine(**{word: raising(error)})
    policy = policy_of(text, line)
    policy.prepare()  # keeps still: others of the order play on
    with pytest.raises(UnusableProgramError, match=f"does not start: {error}"):
        decide(policy, text)


@EVERY
def test_one_that_said_no_hello_in_time_is_not_waited_for_again(text: str) -> None:
    word = "uciok" if text == "uci" else "hello"
    line = ScriptedLine(**{word: raising(AgentSilentError("no answer within 20 s"), times=1)})
    policy = policy_of(text, line)
    policy.prepare()
    for _ in range(2):
        with pytest.raises(UnusableProgramError, match="does not start: no answer within 20 s"):
            decide(policy, text)
    assert line.n_opened == 1


@EVERY
def test_one_that_has_played_and_says_no_hello_any_more_is_at_fault(text: str) -> None:
    line = ScriptedLine()
    policy = policy_of(text, line)
    decide(policy, text)
    answer, hello = ("bestmove", "uciok") if text == "uci" else (ACTION, "hello")
    line.faults = {answer: raising(DIED), hello: raising(DIED)}
    with pytest.raises(AgentDiedError):
        decide(policy, text)


@pytest.mark.parametrize(("text", "release"), [("program:mine", "First 1"), ("uci", "First 1")])
def test_another_release_than_the_agents_cannot_be_used(text: str, release: str) -> None:
    policy = policy_of(
        f"{text},release={release}" if ":" in text else f"{text}:fish,release={release}",
        ScriptedLine(),
        GAMES[text],
    )
    decide(policy, text)
    other = policy_of(
        f"{text}:fish,release=Second".replace(":mine:fish", ":mine"), ScriptedLine(), GAMES[text]
    )
    with pytest.raises(UnusableProgramError, match="says it is 'First 1', the agent's is 'Second'"):
        decide(other, text)


def sent(line: ScriptedLine, kind: str) -> dict[str, Any]:
    (message,) = [one for one in map(json.loads, line.heard) if one["type"] == kind]
    return dict(message)


def test_a_program_is_told_its_options_and_what_it_wants_and_no_more_than_its_seat_knows() -> None:
    line = ScriptedLine()
    policy = policy_of("program:mine,options=level:3", line, POKER)
    row = row_after(POKER, [], game_seed=5)
    (action,) = policy.act([row])
    hello, decision = sent(line, "hello"), sent(line, "decide")
    assert hello["options"] == "level:3"
    assert hello["game"]["id"] == "kuhn_poker"
    assert action == decision["legal_actions"][0]
    assert decision["seed"] == row.seed() >> 10 < 1 << 53
    assert decision["seat"] == 0
    assert decision["description"] == row.state.describe(0) != row.state.describe()
    assert decision["observation"] == row.state.observation(0).ravel().tolist()
    assert decision["action_names"] == [row.state.action_name(a) for a in decision["legal_actions"]]
    assert policy.last_values == [0.5]


def test_what_is_not_wanted_is_not_sent() -> None:
    line = ScriptedLine(hello=lambda _: '{"type":"hello"}')
    decide(policy_of("program:mine", line), "program:mine")
    assert not {"observation", "description", "action_names"} & sent(line, "decide").keys()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda _: "e2e4", "no message: .*'e2e4'"),
        (lambda _: "[" * 100_000, "no message"),
        (
            lambda _: '{"type":"action","id":1,"action":true}',
            "no message: Expected `int`, got `bool`",
        ),
        (lambda _: '{"type":"action","id":1,"action":1.5}', "no message"),
        (lambda _: '{"type":"action","id":7,"action":1}', "an answer to 1 was due, got 7"),
        (lambda _: '{"type":"hello"}', "an action was asked for, got 'hello'"),
    ],
)
def test_what_is_no_answer_is_invalid(fault: Fault, why: str) -> None:
    with pytest.raises(InvalidOutputError, match=why):
        decide(policy_of("program:mine", ScriptedLine(**{ACTION: fault})), "program:mine")


def test_a_program_that_gives_up_says_why() -> None:
    problem = f'{{"type":"error","message":"no idea{" at all" * 2_000}"}}'
    line = ScriptedLine(**{ACTION: lambda _: problem})
    with pytest.raises(AgentDiedError, match="it says: no idea"):
        decide(policy_of("program:mine", line), "program:mine")


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ('{"type":"hello","wants":["seed"]}', "wants 'seed': choose of observation, description"),
        ('{"type":"action","id":1,"action":1}', "a hello was asked for, got 'action'"),
    ],
)
def test_a_hello_that_is_none_is_refused(hello: str, why: str) -> None:
    policy = policy_of("program:mine", ScriptedLine(hello=lambda _: hello))
    with pytest.raises(UnusableProgramError, match=why):
        decide(policy, "program:mine")


@pytest.mark.parametrize("text", ["program:../bin/sh", "http_agent:http://x", "uci:/usr/bin/x"])
def test_an_agent_names_an_entry_of_the_list_and_no_path(text: str) -> None:
    with pytest.raises(ParameterError, match="'program' must be up to 16 small letters"):
        build(text, CHESS)


def test_kinds_say_which_programs_they_ask_and_that_nobody_knows_them_beforehand() -> None:
    assert policies.list_programs("program", {"program": "a"}) == ("a",)
    assert policies.list_programs("uci", {}) == ("stockfish",)
    assert policies.list_programs("random", {}) == ()
    kinds = ("program", "http_agent", "uci")
    assert not any(policies.is_repeatable(kind) for kind in kinds)
    assert policies.is_repeatable("random")


def test_programs_may_change_unless_they_have_to_say_which_release_they_are() -> None:
    for kind in ("program", "http_agent", "uci"):
        assert policies.may_change(kind, {})
        assert policies.may_change(kind, {"release": ""})
        assert not policies.may_change(kind, {"release": "Stockfish 17"})
    assert not policies.may_change("random", {})
    assert policies.may_change("no_longer_installed", {"release": "1"})


# UCI


def test_the_engine_is_told_the_start_the_moves_and_when_a_match_is_new() -> None:
    line = ScriptedLine()
    policy = policy_of("uci:fish,skill=3,hash_mb=1,nodes=5,depth=2,movetime_ms=7", line, CHESS)
    row = row_after(CHESS, [])
    (first,) = policy.act([row])
    row.state.apply(first)
    policy.act([Row(row.state, row.state.to_move(), 1)])
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert line.heard[:5] == [
        "uci", "setoption name Hash value 1", "setoption name Skill Level value 3", "isready",
        "ucinewgame",
    ]  # fmt: skip
    assert [heard for heard in line.heard if heard.startswith("position")] == [
        f"position fen {start}", f"position fen {start} moves a2a3",
    ]  # fmt: skip
    assert "go nodes 5 depth 2 movetime 7" in line.heard
    assert line.heard.count("ucinewgame") == 2  # the other seat remembers nothing of the first
    policy.act([Row(row.state, row.state.to_move(), 1)])
    assert line.heard.count("ucinewgame") == 2


@pytest.mark.parametrize(
    ("score", "value"),
    [("cp 0", 0.0), ("cp 400", 9 / 11), ("cp -99999", -1.0), ("mate 3", 1.0), ("mate -1", -1.0)],
)
def test_a_score_is_what_the_seat_expects(score: str, value: float) -> None:
    line = ScriptedLine(info=lambda _: f"info depth 9 score {score} nodes 3")
    policy = policy_of("uci", line)
    decide(policy, "uci")
    assert policy.last_values == [pytest.approx(value, abs=1e-6)]
    silent = policy_of("uci", ScriptedLine(info=lambda _: "info string hello"))
    decide(silent, "uci")
    assert silent.last_values == [None]


@pytest.mark.parametrize("best", ["bestmove e2e5", "bestmove (none)", "bestmove", "bestmove Nf3"])
def test_a_best_move_that_is_none_is_illegal(best: str) -> None:
    policy = policy_of("uci", ScriptedLine(bestmove=lambda _: best))
    with pytest.raises(IllegalActionError, match="is not legal here"):
        decide(policy, "uci")


def test_an_option_that_the_engine_has_not_cannot_be_used() -> None:
    policy = policy_of("uci:fish,options=Contempt:0;UCI_Elo:1500", ScriptedLine(), CHESS)
    with pytest.raises(UnusableProgramError, match=r"'fish' \(First 1\) has no option 'Contempt'"):
        decide(policy, "uci")


def test_an_engine_that_only_chatters_does_not_hold_up_its_player() -> None:
    class Chatter(ScriptedLine):
        def receive(self, *, within_s: float | None = None) -> str:
            return "info string hello"

    with pytest.raises(UnusableProgramError, match="does not start: no uciok within"):
        decide(policy_of("uci", Chatter()), "uci")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("uci:nodes=0", "'nodes' must be above 0, or depth or movetime_ms"),
        ("uci:options=Contempt", "'options' has 'Contempt': name:value is needed"),
        ("uci:options=:3", "name:value is needed"),
    ],
)
def test_parameters_that_make_no_search_are_refused(text: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        build(text, CHESS)


def test_an_engine_plays_chess_alone() -> None:
    assert policies.get("uci").refusal(CHESS.spec) is None
    assert "protocol of chess" in str(policies.get("uci").refusal(TICTAC.spec))
