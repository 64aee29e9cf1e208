"""Every count on a page is the length of the list that it leads to, whatever became of matches."""

import csv
import re
from collections.abc import Iterator
from html import unescape
from io import StringIO

import pytest
from django.test import Client
from redis import Redis

from arena.games.base import forfeit_ranks
from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.ledger import planning, voiding
from matches.ledger.tournaments import cancel_tournament, schedule_tournament
from matches.models import Agent, Leaderboard, Match, Tournament
from matches.models.choices import SeasonMode
from matches.models.match import parse_numbers
from matches.plans import TournamentPlan
from matches.ratings import rater, rerating, seasons
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_reuse import by_seed

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tester")
COUNT = re.compile(r'<a [^>]*href="(/\w+/\?[^"]+)"[^>]*>\s*(?:<b>)?([\d,]+)(?! of)\b')


def _play(row: MatchOrderRow) -> ResultRow:
    match = Match.objects.get(pk=row.match)
    if match.game_seed % 5:
        return by_seed(row)
    ranks = forfeit_ranks(0, 2)
    return factories.result(row, ending=Ending.FORFEIT, ranks=ranks, reason=Reason.ILLEGAL, seat=0)


def _go_on(first: Tournament, at_s: int, *, n_played: int = 1_000, **plan: object) -> Tournament:
    """Return another tournament of the same agents on the same leaderboard."""
    agents = list(first.agents.order_by("entrant__position"))
    options = TournamentPlan(name=f"at {at_s}", **plan)  # type: ignore[arg-type]
    more = schedule_tournament(options, leaderboard=first.leaderboard, agents=agents)
    planning.plan_tournament(more, now=later(at_s))
    if Match.objects.filter(Match.is_open(), tournament=more).exists():
        boards.play_some(more, n_played, _play, now=later(at_s))
    return more


def _rate(board: Leaderboard, at_s: int) -> None:
    rerating.rerate_due(now=later(at_s))
    rater.rate(board.pk, now=later(at_s + 1))


def _arrange() -> Leaderboard:
    """Return a board with unrated, known, struck and cancelled matches of two seasons."""
    first = factories.planned(24, agents=("level:10", "level:50", "level:90"))
    board = first.leaderboard
    boards.play_some(first, 1_000, _play)
    _go_on(first, 10, n_matches=6, seed=77, is_rated=False)
    _go_on(first, 20, n_matches=24, seed=first.seed)
    struck = Match.objects.filter(tournament=first, state=Match.State.DONE).values_list("pk")[:3]
    voiding.void_matches([pk for (pk,) in struck], actor=ACTOR, reason="broken", now=later(30))
    cancelled = _go_on(first, 40, n_played=4, n_matches=12, seed=99)
    cancel_tournament(Tournament.objects.get(pk=cancelled.pk), now=later(45))
    _rate(board, 50)
    return board


def _list_pages(board: Leaderboard) -> Iterator[str]:
    yield from ("/", "/leaderboards/", "/tournaments/", "/agents/", f"/leaderboards/{board.name}/")
    agents = list(Agent.objects.values_list("pk", flat=True))
    yield from (f"/tournaments/{one.pk}/" for one in Tournament.objects.all())
    yield from (f"/agents/{agent}/" for agent in agents)
    yield from (f"/compare/{agents[0]}/{other}/" for other in agents[1:])
    yield f"/compare/?agents={','.join(map(str, agents))}"


def _find_wrong(client: Client, board: Leaderboard) -> list[tuple[str, str, int, int]]:
    counts = {
        (page, unescape(address), int(text.replace(",", "")))
        for page in _list_pages(board)
        for address, text in COUNT.findall(client.get(page).content.decode())
    }
    assert len(counts) > 60
    lengths = {address: _count_lines(client, address) for _, address, _ in counts}
    return [(page, at, n, lengths[at]) for page, at, n in sorted(counts) if n != lengths[at]]


def _count_lines(client: Client, address: str) -> int:
    file = client.get(f"{address}&format=csv").getvalue().decode()
    return len(list(csv.DictReader(StringIO(file))))


def test_every_count_is_the_length_of_its_list(client: Client, broker: Redis) -> None:
    board = _arrange()
    assert _find_wrong(client, board) == []
    board.refresh_from_db()
    mode = SeasonMode.RESET
    seasons.begin(board, "spring", mode=mode, actor=ACTOR, reason="new", now=later(60))
    _rate(board, 70)
    _go_on(Tournament.objects.earliest("pk"), 80, n_matches=12, seed=199)
    _rate(board, 90)
    broker.flushall()
    assert _find_wrong(client, board) == []


def test_of_three_seats_the_pair_page_counts_who_ended_before_the_other(
    client: Client, broker: Redis
) -> None:
    agents = [
        Agent.objects.create(name=name, game="kuhn_poker_3", policy="random") for name in "abcd"
    ]
    tournament = factories.planned(30, agents=agents, game="kuhn_poker_3")
    ways = ([0, 1, 2], [0, 0, 2], [2, 0, 0], [0, 0, 0], [1, 0, 1], [2, 1, 0])
    boards.play_some(
        tournament, 1_000, lambda row: factories.result(row, ranks=ways[row.match % len(ways)])
    )
    _rate(tournament.leaderboard, 1)
    one, other = agents[:2]
    counts = {-1: 0, 0: 0, 1: 0}
    for match in Match.objects.select_related("outcome"):
        ranks = dict(zip(match.agent_ids, parse_numbers(match.outcome.ranks), strict=True))
        if {one.pk, other.pk} <= ranks.keys():
            gap = ranks[one.pk] - ranks[other.pk]
            counts[(gap > 0) - (gap < 0)] += 1
    page = client.get(f"/compare/{one.pk}/{other.pk}/").content.decode()
    assert f"{counts[-1]} / {counts[0]} / {counts[1]}" in " ".join(page.split())
    assert "result=won" not in page
