"""What the games of two agents say, from one side: by seat, by tournament and by opening."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from arena.verdicts.scale import elo_of_score
from matches.models import Leaderboard, Match, PairCount, Tournament
from matches.models.match import parse_numbers
from matches.ratings.comparisons import Comparison, predict_match
from matches.store.bulk import among
from matches.store.formats import format_signed
from matches.store.pair_search import find_pair_matches
from pages.records import Record
from pages.replays import Teller

# Games that are read for the tables: some 20 ms, however often the two met.
MAX_GAMES = 2_000
MAX_TOURNAMENTS = 20
MAX_OPENINGS = 12
# Openings are played again to be named: 0.01 to 0.2 ms each.
MAX_SEEDS = 300
_NEARLY = 1e-4


class PlayedGame(NamedTuple):
    """A game of the two: seats and ranks of both, the first agent first."""

    match: int
    tournament: int
    leaderboard: int
    game_seed: int
    seats: tuple[int, int]
    ranks: tuple[int, int]


class RecordRow(NamedTuple):
    """A row of a table of results."""

    label: str
    record: Record
    tournament: Tournament | None = None


class EloGap(NamedTuple):
    """The difference in points of Elo with its interval of 95 %; at the ends of the scale cut."""

    elo: float
    low: float
    high: float

    def __str__(self) -> str:
        elo, low, high = (format_signed(end, 0) for end in self)
        return f"{elo} ({low} to {high})"


def compute_elo(comparison: Comparison, board: Leaderboard) -> EloGap:
    """Return how many points of Elo the first agent is ahead, by the expected score."""
    gap = comparison.first.mu - comparison.second.mu
    return EloGap(
        *(_elo_of_gap(board, end) for end in (gap, comparison.gap_low, comparison.gap_high))
    )


def _elo_of_gap(board: Leaderboard, gap: float) -> float:
    expected = predict_match(board, gap)
    score = expected.win + expected.draw / 2
    # Beyond 1,600 points a score cannot be told from 0 or 1 any more.
    return elo_of_score(min(max(score, _NEARLY), 1 - _NEARLY))


def read_games(first: int, second: int) -> list[PlayedGame]:
    """Return the newest games of two agents that are over, the newest first: four queries."""
    ids = find_pair_matches(first, second, limit=MAX_GAMES)
    over = Match.objects.filter(pk__in=among(ids), state=Match.State.DONE)
    columns = ("pk", "tournament_id", "leaderboard_id", "game_seed", "lineup", "outcome__ranks")
    rows = over.exclude(outcome=None).order_by("-pk").values_list(*columns)
    played = []
    for pk, tournament, board, seed, lineup, ranks in rows:
        agents, places = parse_numbers(lineup), parse_numbers(ranks)
        seats = (agents.index(first), agents.index(second))
        both = (places[seats[0]], places[seats[1]])
        played.append(PlayedGame(pk, tournament, board, seed, seats, both))
    return played


def sum_records(played: Iterable[PlayedGame]) -> Record:
    """Return who ended in front how often."""
    ranks = [game.ranks for game in played]
    wins = sum(own < other for own, other in ranks)
    draws = sum(own == other for own, other in ranks)
    return Record(wins, draws, len(ranks) - wins - draws)


def group_by_seat(board: Leaderboard, first: int, second: int) -> list[RecordRow]:
    """Return what both did in the earlier and in the later seat, as the board has counted it."""
    pair = (first, second)
    counts = PairCount.objects.filter(leaderboard=board, first__in=pair, second__in=pair)
    columns = ("first_id", "n_first_wins", "n_draws", "n_second_wins")
    rows = {row[0]: row[1:] for row in counts.values_list(*columns)}
    earlier, later = Record(*rows.get(first, ())), Record(*rows.get(second, ())[::-1])
    is_for_two = count_seats(board) == len(pair)
    words = ("sits first", "sits second") if is_for_two else ("sits before", "sits after")
    labelled = zip(words, (earlier, later), strict=True)
    return [RecordRow(label, record) for label, record in labelled if record.n]


def count_seats(board: Leaderboard) -> int:
    """Return the seats of the board's game, 0 where its file cannot be used."""
    try:
        return games.get(board.game).spec.n_seats
    except ArenaError:
        return 0


def group_by_tournament(played: Sequence[PlayedGame]) -> list[RecordRow]:
    """Return the results in each tournament, the newest first: one query."""
    groups = defaultdict[int, list[PlayedGame]](list)
    for game in played:
        groups[game.tournament].append(game)
    newest = sorted(groups, reverse=True)[:MAX_TOURNAMENTS]
    tournaments = Tournament.objects.select_related("leaderboard").in_bulk(newest)
    return [
        RecordRow(str(tournaments[pk]), sum_records(groups[pk]), tournaments[pk]) for pk in newest
    ]


def group_by_opening(played: Sequence[PlayedGame], board: Leaderboard) -> list[RecordRow]:
    """Return the results after each opening on a board, the most frequent first; none without."""
    seeds = list(dict.fromkeys(game.game_seed for game in played))[:MAX_SEEDS]
    try:
        names_of_seeds = {seed: _name_opening(board, seed) for seed in seeds} if board.plies else {}
    except ArenaError:
        return []  # the file of the game cannot be used: its openings have no names
    groups = defaultdict[str, list[PlayedGame]](list)
    for game in played:
        if game.game_seed in names_of_seeds:
            groups[names_of_seeds[game.game_seed]].append(game)
    frequent = sorted(groups, key=lambda name: (-len(groups[name]), name))[:MAX_OPENINGS]
    return [RecordRow(name, sum_records(groups[name])) for name in frequent]


def _name_opening(board: Leaderboard, seed: int) -> str:
    game = games.get(board.game).configured(board.game_parameters)
    state = game.start(seed, opening_plies=0)
    names, teller = [], Teller(board.game)
    for action in game.start(seed, opening_plies=board.plies).opening:
        names.append(teller.name_action(state, action))
        state.apply(action)
    # "column b, a, g": a word that begins every move is written once.
    word = names[0].split(" ")[0] + " " if names else ""
    if all(name.startswith(word) for name in names):
        names[1:] = [name.removeprefix(word) for name in names[1:]]
    return ", ".join(names)
