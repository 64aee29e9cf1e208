"""Commands of leaderboards: open, list, show the ratings, compare two agents."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from itertools import chain
from typing import Final

from evalsite_client.api.leaderboards import Comparison, Leaderboard, Rating
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    add_reason,
    find_agent,
    page_size,
    read_pair,
    read_whole,
    take_rows,
)
from evalsite_client.cli.show import Answer, format_counts, format_pairs, format_table
from evalsite_client.client import Client
from evalsite_client.errors import InputError

RATING_HEAD = (
    *("rank", "id", "agent", "mu", "low", "high", "live", "matches"),
    *("W-D-L", "forfeits"),
)
ALMOST = 0.9995
BOARD_HEAD = ("name", "game", "title", "outcomes", "rated", "place")
PLACES: Final[dict[str, tuple[bool | None, bool | None]]] = {
    "pin": (True, None),
    "unpin": (False, None),
    "list": (None, True),
    "unlist": (None, False),
}
"""What can be done with leaderboards in lists: whether they are pinned and listed then."""


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    new = add_command(
        commands,
        "open",
        open_board,
        examples="  evalsite open connect-four --game connect_four --opening-plies 2",
    )
    new.add_argument("name")
    new.add_argument("--game", required=True)
    new.add_argument("--title", default="")
    new.add_argument("--opening-plies", type=read_whole(), metavar="N")
    new.add_argument(
        *("-p", "--parameter"),
        type=read_pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the game",
    )
    listed = add_command(
        commands,
        "boards",
        show_boards,
        examples="  evalsite boards --game connect_four\n"
        "  evalsite boards pin connect-four\n"
        "  evalsite boards unlist old-trial older-trial",
    )
    listed.add_argument("act", nargs="?", choices=tuple(PLACES), help="what to do with BOARD")
    listed.add_argument("boards", nargs="*", metavar="BOARD")
    listed.add_argument("--game")
    listed.add_argument("--all", action="store_true", help="unlisted ones too")
    add_reason(listed, is_required=False)
    add_limit(listed)
    shown = add_command(
        commands,
        "board",
        show_board,
        examples="  evalsite board connect-four --limit 10\n"
        "  evalsite board connect-four --json | jq '.[0].agent.name'",
    )
    shown.add_argument("leaderboard")
    add_limit(shown)
    compared = add_command(
        commands,
        "compare",
        compare_agents,
        examples="  evalsite compare mcts-100 mcts-400 --leaderboard connect-four\n"
        "  evalsite compare 3 7 -l connect-four --json",
    )
    compared.add_argument("first", metavar="A", help="id or name")
    compared.add_argument("second", metavar="B", help="id or name")
    compared.add_argument("-l", "--leaderboard", required=True)


def open_board(client: Client, options: Namespace) -> Answer:
    """Open a leaderboard."""
    board = client.leaderboards.open(
        name=options.name,
        game=options.game,
        title=options.title,
        game_parameters=dict(options.parameter),
        opening_plies=options.opening_plies,
    )
    return Answer(board, f"{board.name} is open for {board.game}")


def show_boards(client: Client, options: Namespace) -> Answer:
    """List leaderboards, the pinned ones first; or pin, unpin, list or unlist some."""
    if options.act is not None:
        return _place_boards(client, options)
    listed, size = None if options.all else True, page_size(options)
    # The pinned ones are few: two lists, so that they come first however many there are.
    pages = [
        client.leaderboards.list(
            game=options.game, is_listed=listed, is_pinned=is_pinned, page_size=size
        )
        for is_pinned in (True, False)
    ]
    boards = take_rows(chain(*pages), options)
    rows = [(b.name, b.game, b.title, b.n_counted, b.rated_at, _describe_place(b)) for b in boards]
    return Answer(boards, format_table(BOARD_HEAD, rows))


def _place_boards(client: Client, options: Namespace) -> Answer:
    """Do what was asked to each of the leaderboards named."""
    if not options.boards:
        raise InputError("BOARD", f"name the leaderboards to {options.act}")
    is_pinned, is_listed = PLACES[options.act]
    placed = tuple(
        client.leaderboards.place(
            name, is_pinned=is_pinned, is_listed=is_listed, reason=options.reason
        )
        for name in options.boards
    )
    lines = [f"{board.name}: {_describe_place(board) or 'listed'}" for board in placed]
    return Answer(placed, "\n".join(lines))


def _describe_place(board: Leaderboard) -> str:
    """Return what sets a leaderboard apart in lists: pinned, unlisted or both."""
    marks = ["pinned"] * board.is_pinned + ["unlisted"] * (not board.is_listed)
    return ", ".join(marks)


def show_board(client: Client, options: Namespace) -> Answer:
    """Show the ratings of a leaderboard, the best first; low to high is the 95 % interval."""
    rows = client.leaderboards.ratings(options.leaderboard, page_size=page_size(options))
    ratings = take_rows(rows, options)
    return Answer(ratings, format_table(RATING_HEAD, [_make_row(rating) for rating in ratings]))


def compare_agents(client: Client, options: Namespace) -> Answer:
    """Compare two agents: which is better, how sure that is, how their matches ended."""
    name = options.leaderboard
    game = client.leaderboards.get(name).game
    first_id, second_id = (
        find_agent(client, text, game=game, field=place).id
        for text, place in ((options.first, "A"), (options.second, "B"))
    )
    if first_id == second_id:
        raise InputError("B", f"{options.second!r} is the same agent as A: name another")
    comparison = client.leaderboards.compare(name, first_id, second_id)
    ratings = tuple(client.leaderboards.rating(name, agent) for agent in (first_id, second_id))
    return Answer(
        {"comparison": comparison, "ratings": ratings}, _describe_comparison(comparison, ratings)
    )


def _describe_comparison(comparison: Comparison, ratings: tuple[Rating, ...]) -> str:
    head_to_head, next_one = comparison.head_to_head, comparison.expected
    share = f"{next_one.win:.0%} / {next_one.draw:.0%} / {next_one.loss:.0%}"
    certainty = (
        f"{comparison.certainty:.1%}" if comparison.certainty < ALMOST else "more than 99.9%"
    )
    verdict = f"{comparison.leader.name} is the better one with {certainty}"
    if comparison.is_even:
        verdict = f"neither can be told to be the better one: it is {certainty} either way"
    rows = {
        f"P({comparison.first.name} > {comparison.second.name})": f"{comparison.p_above:.4f}",
        "head to head (W-D-L)": format_counts(
            (head_to_head.n_wins, head_to_head.n_draws, head_to_head.n_losses)
        ),
        "next match (win / draw / loss)": share,
    }
    table = format_table(RATING_HEAD, [_make_row(rating) for rating in ratings])
    return f"{verdict}\n{format_pairs(rows)}\n\n{table}"


def _make_row(rating: Rating) -> list[object]:
    counts = format_counts((rating.n_wins, rating.n_draws, rating.n_losses))
    cells = (rating.rank, rating.agent.id, rating.agent.name, rating.mu, rating.low, rating.high)
    return [*cells, rating.live_mu, rating.n_matches, counts, rating.n_forfeits]
