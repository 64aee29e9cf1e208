"""Whether game servers tell the truth: some of their matches are played again by our own rules.

Only where the rules are here (ServedGame.rules); elsewhere nobody can know, and pages say so. The
choice is drawn under the secret of the tournament: nobody can know which matches are looked at.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from math import ceil, isclose
from random import Random
from time import monotonic

from arena.errors import ArenaError, IllegalActionError
from arena.games import registry as games
from arena.games.base import OVER, SERVER, Game
from arena.games.base import ranks as rank_returns
from arena.games.served import ServedGame, can_replay
from arena.messages import Ending, ResultRow
from matches.ledger.quarantine import quarantine_worker
from matches.models import Attempt, Leaderboard, Match, ReplayCheck, Tournament, Worker
from matches.models.match import parse_numbers
from matches.store.auditing import CONTROL
from matches.store.bulk import insert_rows
from matches.store.catalog import game_problem
from matches.store.signing import derive_tournament_key

log = logging.getLogger(__name__)

SHARE = 0.05
"""Of the matches of each server in each report, rounded up: at least one of every order."""
MAX_AT_ONCE = 50
LIMIT_S = 0.2
"""Of one tick, which comes each second."""
MAX_WAITING = 1_000
"""What is chosen beyond this is not looked at: control could not keep up."""
# Another language may add in another order: what is no other result is no lie.
_TOLERANCE = 1e-9


def find_rules(game: str, parameters: dict[str, object]) -> Game | None:
    """Return our own rules of a game that game servers play; None without any, or of other games.

    Raises ArenaError for a game that cannot be used here.
    """
    served = games.get(game)
    if not isinstance(served, ServedGame) or served.spec.served != SERVER:
        return None
    return served.configured(parameters).rules if can_replay(served) else None


def has_rules(board: Leaderboard) -> bool:
    """Say whether the rules of a board's game are ours and can be used; what fails is logged."""
    try:
        return find_rules(board.game, board.game_parameters) is not None
    except Exception:  # whatever the code of a plug-in raises: results must not be lost by it
        log.exception("the rules of %s cannot be used", board.game)
        return False


def describe_trust(board: Leaderboard) -> str:
    """Return whether anybody can know if results of a board are true; empty where nodes play."""
    if game_problem(board.game) or games.get(board.game).spec.served != SERVER:
        return ""
    if not has_rules(board):
        return (
            "Game servers decide these matches, and the rules are not here: nobody can know "
            "whether what they say of a result is true."
        )
    return (
        f"Game servers decide these matches. {SHARE:.0%} of them are played again here by the same "
        "rules; a server that says otherwise is stopped."
    )


def choose_matches(closing: Sequence[ResultRow], tournament: Tournament) -> None:
    """Choose which of these matches are played again, in the transaction that closes them."""
    by_server: defaultdict[str, list[int]] = defaultdict(list)
    for row in closing:
        if row.server and row.ending is Ending.DONE:
            by_server[row.server].append(row.match)
    if not by_server or not has_rules(tournament.leaderboard):
        return
    chosen = []
    for server, matches in sorted(by_server.items()):
        rng = Random(derive_tournament_key(tournament) + str(sorted(matches)).encode())
        n = ceil(SHARE * len(matches))
        chosen += [(match, server) for match in rng.sample(sorted(matches), n)]
    insert_rows(ReplayCheck, ("match_id", "server"), chosen)


def check_chosen(
    *, now: datetime, limit_s: float = LIMIT_S, clock_s: Callable[[], float] = monotonic
) -> int:
    """Play chosen matches again, the oldest first, as long as there is time; return how many.

    A server whose match came out otherwise is put into quarantine.
    """
    rows = ReplayCheck.objects.select_related("match__leaderboard", "match__outcome")
    checks, began, checked = list(rows.order_by("pk")[:MAX_AT_ONCE]), clock_s(), []
    for check in checks:
        checked.append(check.pk)
        if difference := find_difference(check.match):
            _stop_server(check, difference, now=now)
        if clock_s() - began >= limit_s:
            break
    if checked:
        ReplayCheck.objects.filter(pk__in=checked).delete()
    if len(checks) == MAX_AT_ONCE:
        _drop_surplus()
    return len(checked)


def find_difference(match: Match) -> str:
    """Return how a match comes out otherwise by our rules; empty where it does not."""
    board = match.leaderboard
    try:
        rules = find_rules(board.game, board.game_parameters)
        return "" if rules is None else _compare_returns(match, rules, plies=board.plies)
    except ArenaError as error:
        log.warning("match %s of %s cannot be checked: %s", match.pk, board.game, error)
    except Exception:  # whatever the code of a plug-in raises: that is no fault of the server
        log.exception("match %s of %s cannot be checked", match.pk, board.game)
    return ""


def _compare_returns(match: Match, rules: Game, *, plies: int) -> str:
    state, outcome = rules.start(match.game_seed, opening_plies=plies), match.outcome
    actions = parse_numbers(outcome.actions.replace(" ", ","))
    if not actions:
        return ""  # more than a result holds: none were kept
    for number, action in enumerate(actions, 1):
        if state.to_move() == OVER:
            return f"by our rules it is over after {number - 1} of its {len(actions)} moves"
        try:
            state.apply(action)
        except IllegalActionError:
            return f"by our rules its move {number}, action {action}, is illegal"
    if state.to_move() != OVER:
        return f"by our rules it is not over after its {len(actions)} moves"
    ours = [float(value) for value in state.returns()]
    reported = [float(text) for text in outcome.returns.split(",")] if outcome.returns else []
    spec = rules.spec
    if rank_returns(ours, spec.n_seats, spec.teams) != parse_numbers(outcome.ranks):
        return f"it says ranks {outcome.ranks}, by our rules the returns are {_join_returns(ours)}"
    is_other = any(
        not isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for a, b in zip(ours, reported, strict=False)
    )
    return (
        f"it says returns {outcome.returns}, by our rules {_join_returns(ours)}" if is_other else ""
    )


def _join_returns(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _stop_server(check: ReplayCheck, difference: str, *, now: datetime) -> None:
    worker = Worker.objects.filter(node=check.server).first()
    if worker is None:
        return
    played = Attempt.objects.filter(match=check.match, number=check.match.outcome.attempt)
    node = played.values_list("node", flat=True).first() or "a node"
    reason = f"match {check.match_id}, as {node} reports it, did not come out so: {difference}"
    log.error("game server %s: %s", worker.node, reason)
    quarantine_worker(worker, actor=CONTROL, reason=reason[:500], now=now)


def _drop_surplus() -> None:
    newest = ReplayCheck.objects.order_by("-pk").values_list("pk", flat=True)
    for pk in newest[MAX_WAITING : MAX_WAITING + 1]:
        n_dropped, _ = ReplayCheck.objects.filter(pk__lte=pk).delete()
        log.warning("%d matches of game servers are not played again: too many wait", n_dropped)
