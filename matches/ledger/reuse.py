"""Known matches: the same agents met in the same seats in the same game before.

Agents decide by what they see and the seed of the game (arena/conformance/policies.py), so a game
that was played says all that playing it again would. Known is a match of a rated tournament without
emulated faults, of the same seed set and limits, on this or a comparable leaderboard, whose season
is not over, unless a forfeit ended it that another machine may not repeat (a time-out, a crash).

A known match is not played again: it is over when it is planned, with the outcome of the one that
`same_as` names. Those that were under way at the same time, or are played again on purpose, get the
same link when they are recorded. On its own leaderboard a repetition counts nothing. On another one
it counts, and only there: evidence for campaigns is the first (matches.ratings.evidence).
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F, Q

from arena.games import registry as games
from arena.messages import Reason
from arena.policies.registry import is_repeatable
from matches import dispatch
from matches.models import Agent, Entrant, Leaderboard, Match, Outcome, Tournament, Uncounted
from matches.models.match import parse_numbers
from matches.ratings.evidence import are_alike, find_listed_boards
from matches.store.bulk import among, insert_rows, split_batches, update_rows
from matches.store.catalog import is_scored_game

log = logging.getLogger(__name__)

MOST_TWINS = 100
"""Tournaments that are looked at: the oldest, whose matches the later ones name."""
MOST_LOOKED_UP = 40
"""Blocks of one query: each is looked up with each lineup of them."""
UNREPEATABLE = (Reason.TIMEOUT.value, Reason.CRASH.value)


class MatchIdentity(NamedTuple):
    """What identifies a match among known ones; lineup as Match has it."""

    block: int
    game_seed: int
    lineup: str

    @property
    def key(self) -> tuple[int, str]:
        """What makes it the same game."""
        return self.game_seed, self.lineup


class KnownMatch(NamedTuple):
    """The match that was over before, and whether it counts on the same leaderboard."""

    match: int
    is_here: bool


def find_twins(tournament: Tournament, agents: Sequence[int]) -> list[int]:
    """Return the tournaments that may play the same matches, the oldest first; most have none.

    Of a game that cannot be replayed no match is the same as another one.
    """
    board = tournament.leaderboard
    spec = games.get(board.game).spec
    if not tournament.is_rated or tournament.faults is not None or not spec.is_replayable:
        return []
    alike = Tournament.objects.filter(
        Q(leaderboard=board) | Q(leaderboard__in=find_listed_boards(board)),
        seed=tournament.seed,
        is_rated=True,
        faults__isnull=True,
        imported__isnull=True,
        move_s=tournament.move_s,
        match_s=tournament.match_s,
    ).exclude(pk=tournament.pk)
    if not alike.exists():
        return []
    twins = alike.select_related("leaderboard").order_by("pk")
    near = [twin.pk for twin in twins if are_alike(board, twin.leaderboard)]
    entrants = Entrant.objects.filter(tournament__in=near, agent__in=among(agents))
    shared = entrants.values("tournament").annotate(n=Count("pk")).filter(n__gte=spec.n_seats)
    return list(shared.order_by("tournament").values_list("tournament", flat=True)[:MOST_TWINS])


def note_twins(tournament: Tournament, twins: Sequence[int]) -> None:
    """Have the results of tournaments that play the same matches looked up as they come."""
    if twins and not tournament.shares_seed:
        Tournament.objects.filter(pk__in=[tournament.pk, *twins]).update(shares_seed=True)
        tournament.shares_seed = True


def find_known_matches(
    board: Leaderboard, twins: Sequence[int], places: Sequence[MatchIdentity]
) -> dict[tuple[int, str], KnownMatch]:
    """Return known matches by game seed and lineup, preferring matches of this board."""
    if not twins:
        return {}
    agents = sorted({agent for place in places for agent in parse_numbers(place.lineup)})
    kinds = dict(Agent.objects.filter(pk__in=among(agents)).values_list("pk", "policy"))
    odd = {agent for agent, kind in kinds.items() if not is_repeatable(kind)}
    repeatable = [place for place in places if odd.isdisjoint(parse_numbers(place.lineup))]
    by_key: dict[tuple[int, str], KnownMatch] = {}
    for blocks in split_batches(sorted({place.block for place in repeatable}), MOST_LOOKED_UP):
        of_blocks = set(blocks)
        lineups = sorted({place.lineup for place in repeatable if place.block in of_blocks})
        for key, first in _find_over_matches(board, twins, blocks, lineups):
            if key not in by_key or (first.is_here and not by_key[key].is_here):
                by_key[key] = first
    return by_key


def _find_over_matches(
    board: Leaderboard, twins: Sequence[int], blocks: Sequence[int], lineups: Sequence[str]
) -> Iterable[tuple[tuple[int, str], KnownMatch]]:
    """Yield the matches of these blocks and lineups that are over and count."""
    over = Match.objects.filter(
        Q(leaderboard=board) | Q(same_as=None),
        tournament__in=list(twins),
        block__in=list(blocks),
        lineup__in=list(lineups),
        state=Match.State.DONE,
        outcome__isnull=False,
        sequence__gte=F("leaderboard__season_first_sequence"),
    ).exclude(outcome__is_forfeit=True, outcome__reason__in=UNREPEATABLE)
    columns = ("pk", "leaderboard_id", "game_seed", "lineup", "same_as", "same_as__leaderboard")
    for pk, board_id, seed, lineup, same_as, same_board in over.order_by("pk").values_list(
        *columns
    ):
        first = same_as if same_board == board.pk else pk
        yield (seed, lineup), KnownMatch(first, board_id == board.pk)


@transaction.atomic
def take_over_outcomes(
    tournament: Tournament, known_matches: Mapping[int, KnownMatch], *, now: datetime
) -> None:
    """Give matches, by id and already written as over, the outcomes of the known ones."""
    if not known_matches:
        return
    columns = ("ranks", "is_forfeit", "guilty_seat", "reason", "attempt", "actions", "returns")
    firsts = Outcome.objects.filter(pk__in=among([first.match for first in known_matches.values()]))
    outcomes = {pk: values for pk, *values in firsts.values_list("pk", *columns)}
    stamp = connection.ops.adapt_datetimefield_value(now)
    copied = [(pk, *outcomes[first.match], stamp) for pk, first in known_matches.items()]
    insert_rows(Outcome, ("match_id", *columns, "recorded_at"), copied)
    # What its own leaderboard has counted already counts nothing again.
    uncounted = Match.objects.filter(
        pk__in=among([pk for pk, first in known_matches.items() if not first.is_here])
    )
    insert_rows(
        Uncounted,
        ("match_id", "leaderboard_id", "sequence", "is_counted"),
        [(*row, False) for row in uncounted.values_list("pk", "leaderboard_id", "sequence")],
    )
    Tournament.objects.filter(pk=tournament.pk).update(
        n_done=F("n_done") + len(known_matches),
        n_known=F("n_known") + len(known_matches),
        n_forfeits=F("n_forfeits") + sum(bool(is_forfeit) for _, _, is_forfeit, *_ in copied),
    )
    transaction.on_commit(dispatch.wake_rater)


def link_repeated(tournament: Tournament, results: Mapping[int, str]) -> set[int]:
    """Link the matches just recorded to those that were over before; return which count nothing.

    results: ranks by match, of one seat the score, as recorded now; not of forfeits that another
    machine may not repeat. The first recorded result stands: of those that come out otherwise the
    tournament keeps count. The caller has the matches locked.
    """
    if not (results and tournament.shares_seed and tournament.is_rated):
        return set()
    twins = find_twins(tournament, list(tournament.entrant_set.values_list("agent", flat=True)))
    if connection.features.has_select_for_update:
        # Nobody records the same matches at the same time: of two, one is the first.
        rows = Tournament.objects.filter(pk__in=[tournament.pk, *twins]).order_by("pk")
        list(rows.select_for_update().values_list("pk", flat=True))
    recorded = Match.objects.filter(pk__in=among(list(results)))
    places = {
        pk: MatchIdentity(*values)
        for pk, *values in recorded.values_list("pk", *MatchIdentity._fields)
    }
    by_key = find_known_matches(tournament.leaderboard, twins, list(places.values()))
    linked = {pk: by_key[at.key] for pk, at in places.items() if at.key in by_key}
    update_rows(Match, ("same_as_id",), [(first.match, pk) for pk, first in linked.items()])
    n_differing = _count_differing(linked, results)
    if n_differing:
        Tournament.objects.filter(pk=tournament.pk).update(
            n_differing=F("n_differing") + n_differing
        )
    return {pk for pk, first in linked.items() if first.is_here}


def list_differing_matches(tournament: Tournament, limit: int) -> list[tuple[int, int]]:
    """Return matches with another outcome than the same game before, each with that game's match.

    They are looked for only where there are some: the linked ones may be all of a tournament.
    """
    if not tournament.n_differing:
        return []
    linked = Match.objects.filter(tournament=tournament, same_as__isnull=False)
    # Of one seat all have the first rank: there the scores are compared.
    column = "returns" if is_scored_game(tournament.leaderboard.game) else "ranks"
    otherwise = linked.exclude(**{f"outcome__{column}": F(f"same_as__outcome__{column}")})
    pairs = otherwise.filter(outcome__isnull=False).order_by("sequence")
    return [(pk, first) for pk, first in pairs.values_list("pk", "same_as")[:limit] if first]


def _count_differing(linked: Mapping[int, KnownMatch], results: Mapping[int, str]) -> int:
    """Return how many came out otherwise; the log names each."""
    n_differing = 0
    firsts = Outcome.objects.filter(pk__in=among([first.match for first in linked.values()]))
    known_results = {first.pk: first.result for first in firsts.only("ranks", "returns")}
    for pk, first in linked.items():
        if known_results[first.match] != results[pk]:
            n_differing += 1
            log.warning(
                "match %s came out otherwise (%s) than match %s (%s), the same game",
                *(pk, results[pk], first.match, known_results[first.match]),
            )
    return n_differing
