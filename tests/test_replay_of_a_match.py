"""What a play node reports of a match is what its page replays."""

from random import Random

from arena.games import registry as games
from arena.games.base import OVER
from arena.messages import Ending, MatchOrderRow, Reason
from pages import replays
from pages.replays import RecordedMatch
from workers.progress import MatchProgress
from workers.wire import EndedMatch


def test_the_moves_that_a_node_reports_can_be_replayed() -> None:
    game, rng = games.get("connect_four"), Random(1)
    state = game.start(7, opening_plies=4)
    entry = MatchProgress(0, MatchOrderRow(1, 1, 7, [0, 1], "token"))
    while state.to_move() != OVER:
        entry.actions.append(rng.choice(list(state.legal_actions())))
        state.apply(entry.actions[-1])
    row = entry.to_result(EndedMatch(0, Ending.DONE, [0, 1], Reason.NONE, -1, "", 1.0))
    replay = replays.replay_match(RecordedMatch("connect_four", {}, 4, 7, row.actions))
    assert (replay.problem, replay.last_step) == ("", len(entry.actions))
