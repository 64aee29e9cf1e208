"""The actions of matches that have not ended: kept, and sent with the next attempt.

They are what some attempt reported under its token, so they may be wrong as its result may be. A
player that cannot apply them says so, and the match starts again from its opening.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from arena.games import registry as games
from arena.message_tokens import match_token
from arena.messages import BegunRow, Ending, Reason, ResultRow
from matches.models import BegunMatch, Match, Tournament
from matches.store.bulk import among, insert_rows
from matches.store.signing import derive_tournament_key, is_same_token

# Of all matches of an order: an item of a queue has a limit. What is beyond starts again.
MAX_TEXT = 2_000_000
# A match that took less of its player has told nothing before its end.
TOLD_AFTER_MS = 1_000
_ACTIONS = re.compile("[0-9]{1,10}( [0-9]{1,10})*")


def can_go_on(tournament: Tournament) -> bool:
    """Say whether a match may go on where an attempt left it."""
    # Trajectories are told whole, and emulated faults are drawn for each attempt.
    if tournament.keeps_trajectories or tournament.faults is not None:
        return False
    return games.get(tournament.leaderboard.game).spec.is_replayable


def read_genuine(begun: Sequence[BegunRow], tournament: Tournament) -> dict[int, BegunRow]:
    """Return the reported rows with a valid token, by match."""
    if not begun or not can_go_on(tournament):
        return {}
    secret = derive_tournament_key(tournament)
    return {
        row.match: row
        for row in begun
        if is_same_token(match_token(secret, row.match, row.attempt), row.token)
    }


def keep_actions(rows: Iterable[BegunRow | ResultRow], tournament: Tournament) -> None:
    """Keep how far matches are whose newest attempt this is; what is shorter changes nothing.

    The matches must be locked by the caller's transaction.
    """
    reported = {row.match: row for row in rows if _ACTIONS.fullmatch(row.actions)}
    if not reported or not can_go_on(tournament):
        return
    stored = BegunMatch.objects.filter(match__in=among(list(reported)))
    lengths = dict(stored.values_list("match_id", "n_actions"))
    in_flight = Match.objects.filter(pk__in=among(list(reported)), state__in=Match.IN_FLIGHT)
    longer = []
    for match, attempt, owner in in_flight.values_list("pk", "attempt", "tournament_id"):
        row, n_actions = reported[match], reported[match].actions.count(" ") + 1
        is_newest = row.attempt == attempt and owner == tournament.pk
        if is_newest and n_actions > lengths.get(match, 0):
            longer.append((match, attempt, n_actions, row.actions))
    columns = ("match_id", "attempt", "n_actions", "actions")
    insert_rows(BegunMatch, columns, longer, replaces=("match_id",))


def note_given_back(rows: Sequence[ResultRow], tournament: Tournament) -> None:
    """Keep how far interrupted attempts came; one that failed is played from its opening."""
    keep_actions((row for row in rows if row.ending is Ending.INTERRUPTED), tournament)
    forget_actions(
        row.match for row in rows if row.ending is Ending.FAILED or row.reason is Reason.UNFIT
    )


def read_actions(matches: Sequence[int]) -> dict[int, str]:
    """Return by match the actions that its next attempt goes on from, as many as an order holds."""
    stored = BegunMatch.objects.filter(match__in=among(matches)).order_by("n_actions")
    fitting, n_text = {}, 0
    for match, actions in stored.values_list("match_id", "actions"):
        n_text += len(actions)
        if n_text <= MAX_TEXT:
            fitting[match] = actions
    return fitting


def count_actions(attempts: Mapping[int, int]) -> dict[int, int]:
    """Return how many actions were reported of the given attempt of each match."""
    stored = BegunMatch.objects.filter(match__in=among(list(attempts)))
    return {
        match: n_actions
        for match, attempt, n_actions in stored.values_list("match_id", "attempt", "n_actions")
        if attempts[match] == attempt
    }


def forget_actions(matches: Iterable[int]) -> None:
    """Forget what was played in matches that are over, or that start again."""
    if ids := list(matches):
        BegunMatch.objects.filter(match__in=among(ids)).delete()


def forget_ended(rows: Iterable[ResultRow]) -> None:
    """Forget what attempts told that have ended with an outcome."""
    # Most matches are short: nothing is asked of the database for them.
    forget_actions(row.match for row in rows if row.attempt > 1 or row.duration_ms >= TOLD_AFTER_MS)
