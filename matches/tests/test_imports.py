"""Results that were played elsewhere: imported once, rated with the others, struck as one."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from arena import field_ratings
from arena.messages import MatchOrderRow, ResultRow
from matches.artifacts.agents import register_spelled_agent, unretire_agent
from matches.campaigns import belief
from matches.errors import BadInputError, BadRowsError, ConflictError
from matches.ledger import reuse, voiding
from matches.ledger.imported import importing, writing
from matches.ledger.tournaments import extend_tournament, open_leaderboard, pause_tournament
from matches.models import (
    IMPORTED,
    Agent,
    AuditRow,
    ImportBatch,
    Leaderboard,
    Match,
    PairCount,
    Rating,
    Tournament,
    Uncounted,
)
from matches.ratings import evidence, rater, rerating
from matches.ratings.entrants import entrants_of
from matches.tests import factories as make
from matches.tests.imported import ANNA, GAMES, import_file, read_ratings, write_csv

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Leaderboard:
    """Return an empty leaderboard of a game of two."""
    return open_leaderboard("board", game="connect_four")


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return what writes a CSV file of rows under a head."""
    return partial(write_csv, tmp_path)


def test_the_rows_of_a_file_are_matches_that_are_over_and_rated(
    board: Leaderboard, write: Any
) -> None:
    batch, n_new = import_file(board, write())
    assert (n_new, batch.n_rows, batch.n_new_agents, batch.state) == (3, 3, 3, "imported")
    tournament = Tournament.objects.get(pk=batch.tournament_id)
    assert (tournament.state, tournament.n_done, tournament.n_matches) == ("done", 3, 3)
    assert rater.rate_all(now=make.NOW) == [board.pk]
    names = {agent.pk: agent.name for agent in Agent.objects.all()}
    counted = {
        (names[pair.first_id], names[pair.second_id]): (
            pair.n_first_wins,
            pair.n_draws,
            pair.n_second_wins,
        )
        for pair in PairCount.objects.all()
    }
    assert counted == {
        ("ada", "bob"): (1, 0, 0),
        ("bob", "ada"): (0, 1, 0),
        ("ada", "cyd"): (0, 0, 1),
    }
    board.refresh_from_db()
    assert (board.n_counted, board.n_settled) == (3, 3)
    assert not Uncounted.objects.exists()
    audit = AuditRow.objects.get(action="importbatch.import")
    assert (audit.actor, audit.touched["n_rows"]) == ("anna", 3)


def test_they_are_rated_as_the_library_rates_the_same_rows(board: Leaderboard, write: Any) -> None:
    import_file(board, write())
    rater.rate_all(now=make.NOW)
    points = {"1-0": 1, "1/2-1/2": 0.5, "0-1": 0}
    rows = [(first, second, points[result]) for first, second, result in GAMES]
    expected = field_ratings.rate(rows, has_seat_term=True)
    rated = {rating.agent.name: rating.mu for rating in Rating.objects.select_related("agent")}
    for name, mu in zip(expected.names, expected.mu, strict=True):
        assert rated[name] == pytest.approx(mu, abs=1e-9)


def test_what_is_counted_where_it_is_written_is_what_a_rerating_counts(
    board: Leaderboard, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SLICE", 2)
    import_file(board, write(GAMES * 5))
    assert not Uncounted.objects.exists()
    rater.settle_board(board.pk, now=make.NOW)
    before = read_ratings(board)
    board.refresh_from_db()
    assert (board.n_counted, board.prefix_sequence) == (15, 15)
    difference = rerating.rerate(board, now=make.NOW)
    assert difference is not None
    assert difference.is_none
    assert read_ratings(board) == before


def test_on_a_board_with_open_matches_they_wait_for_the_rater(broker: Redis, write: Any) -> None:
    tournament = make.planned(12)
    board = tournament.leaderboard
    import_file(board, write([("level:10", "level:50", "1-0"), ("ada", "level:50", "0-1")]))
    assert Uncounted.objects.filter(is_counted=False).count() == 2
    make.play_all(broker)
    rater.rate(board.pk, now=make.later(9))
    board.refresh_from_db()
    assert board.n_counted == 14
    difference = rerating.rerate(board, now=make.later(9))
    assert difference is not None
    assert difference.is_none


def test_the_same_file_twice_changes_nothing(board: Leaderboard, write: Any) -> None:
    first, _ = import_file(board, write())
    again, n_new = import_file(board, write(name="other_name.csv"))
    assert (again, n_new) == (first, 0)
    assert (Match.objects.count(), ImportBatch.objects.count()) == (3, 1)
    assert AuditRow.objects.count() == 1


def test_the_same_file_by_other_columns_is_refused(board: Leaderboard, write: Any) -> None:
    path = write()
    batch, _ = import_file(board, path)
    turned = {"first": "second", "second": "first"}
    with pytest.raises(ConflictError, match=f"import {batch.pk} of games.csv read first=first"):
        import_file(board, path, columns=turned)
    assert import_file(board, path, columns={"first": "first"}).n_new == 0


def test_rows_that_are_alike_in_one_file_all_count(board: Leaderboard, write: Any) -> None:
    assert import_file(board, write([GAMES[0]] * 4)).n_new == 4


def test_by_their_keys_rows_are_known_again_in_a_longer_file(
    board: Leaderboard, write: Any
) -> None:
    head = ("first", "second", "result", "key")
    rows = [(*row, f"game-{number}") for number, row in enumerate(GAMES)]
    import_file(board, write(rows[:2], head))
    batch, n_new = import_file(board, write(rows, head, "longer.csv"))
    assert (n_new, batch.n_rows, batch.n_known) == (1, 3, 2)
    assert Match.objects.count() == 3
    # None of its rows is new: no batch is made for it.
    same, n_new = import_file(board, write(rows[1:], head, "part.csv"))
    assert (same.file_name, n_new, ImportBatch.objects.count()) == ("games.csv", 0, 2)


def test_of_two_calls_that_bring_the_same_new_agents_one_is_told_to_come_again(
    board: Leaderboard, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_too_early(*_: Any, **__: Any) -> dict[str, int]:
        Agent.objects.get_or_create(name="ada", game=board.game, policy=IMPORTED)
        return {}

    monkeypatch.setattr(importing, "find_agents", look_too_early)
    with pytest.raises(ConflictError, match="imported by another call: send it again"):
        import_file(board, write())
    assert not ImportBatch.objects.exists()


def test_a_key_that_comes_with_another_result_is_refused(board: Leaderboard, write: Any) -> None:
    head = ("first", "second", "result", "key")
    import_file(board, write([("ada", "bob", "1-0", "g1")], head))
    changed = write([("ada", "bob", "0-1", "g1")], head, "changed.csv")
    with pytest.raises(BadRowsError, match="line 2, column 'key', value 'g1': another result"):
        import_file(board, changed)


def test_agents_that_are_there_are_taken_and_others_refused_unless_they_may_be_added(
    board: Leaderboard, write: Any
) -> None:
    agent = register_spelled_agent("random", game=board.game)
    path = write([("random", "ada", "1-0")])
    with pytest.raises(
        BadRowsError, match="line 2, column 'second', value 'ada': connect_four has"
    ):
        import_file(board, path, adds_agents=False)
    assert not ImportBatch.objects.exists()
    import_file(board, path)
    assert Match.objects.get().agent_ids[0] == agent.pk
    added = Agent.objects.get(name="ada")
    assert (added.policy, added.is_retired) == (IMPORTED, True)


def test_an_import_takes_no_name_that_spells_a_policy(board: Leaderboard, write: Any) -> None:
    with pytest.raises(BadRowsError, match="line 2, column 'second', value 'mcts:10': a policy is"):
        import_file(board, write([("ada", "mcts:10", "1-0")]))
    assert not Agent.objects.exists()
    register_spelled_agent("mcts:10", game=board.game)
    assert import_file(board, write([("ada", "mcts:10", "1-0")])).n_new == 1


def test_an_imported_agent_cannot_be_played(board: Leaderboard, write: Any) -> None:
    import_file(board, write())
    ada = Agent.objects.get(name="ada")
    with pytest.raises(BadInputError, match="'ada' cannot enter: it is known by imported results"):
        make.scheduled(agents=[ada, "random"], game=board.game, board="other")
    with pytest.raises(ConflictError, match="'ada' stays retired"):
        unretire_agent(ada)


def test_imported_matches_are_neither_played_nor_known_games(
    board: Leaderboard, write: Any
) -> None:
    agents = [register_spelled_agent(name, game=board.game) for name in ("random", "greedy")]
    batch, _ = import_file(board, write([("random", "greedy", "1-0")]))
    with pytest.raises(ConflictError, match="were played elsewhere"):
        extend_tournament(batch.tournament, 10)
    with pytest.raises(ConflictError, match="were played elsewhere"):
        pause_tournament(batch.tournament)
    match = Match.objects.get()
    voiding.void_matches([match.pk], actor=ANNA, reason="odd", now=make.NOW)
    with pytest.raises(ConflictError, match="were played elsewhere"):
        voiding.requeue_matches([match.pk], actor=ANNA, reason="odd", now=make.NOW)
    draft = Tournament(leaderboard=board, name="same seed", n_matches=2)
    assert reuse.find_twins(draft, [agent.pk for agent in agents]) == []


def test_they_are_evidence_on_their_own_leaderboard_only(board: Leaderboard, write: Any) -> None:
    pair = [register_spelled_agent(name, game=board.game).pk for name in ("random", "greedy")]
    import_file(board, write([("random", "greedy", "1-0")] * 3))
    rater.rate(board.pk, now=make.NOW)
    other = open_leaderboard("other", game=board.game)
    assert evidence.gather_evidence(board, pair).known.n_matches == 3
    boards = [other, board]
    assert evidence.gather_evidence(other, pair, boards=boards).known.n_matches == 0


def test_they_do_not_hide_that_blocks_vary_more_than_the_model_expects(
    broker: Redis, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(belief, "N_LOOKED_AT", 100)
    tournament = make.planned(100, agents=("level:10", "level:50"))

    def play(row: MatchOrderRow) -> ResultRow:
        # Who wins a block wins both of its games.
        first = Match.objects.get(pk=row.match).agent_ids[0]
        return make.result(row, ranks=[0, 1] if (first + row.game_seed) % 2 else [1, 0])

    make.play_all(broker, play)
    rater.rate(tournament.leaderboard_id, now=make.NOW)
    board, pair = tournament.leaderboard, entrants_of(tournament)
    before = belief.infer_and_check(evidence.gather_evidence(board, pair)).checks
    assert before is not None
    assert before.dispersion > 1.5
    import_file(board, write([("level:10", "level:50", "1-0")] * 100))
    rater.rate(board.pk, now=make.later(9))
    blocks = belief.list_blocks(evidence.gather_evidence(board, pair))
    assert len(blocks.first) == 50
