"""`evalsite winrates`: how often each checkpoint of a run beats each other one."""

import csv
import io
import re
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Final, TextIO

from evalsite_client.api.agents import Agent
from evalsite_client.cli import following
from evalsite_client.cli.options import add_command, read_whole
from evalsite_client.cli.saving import save_json, save_text
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import InputError

PAIRING: Final = "double_round_robin"
FILE: Final = "winrates"
OPEN: Final = ("scheduled", "planning", "running", "paused")
Z95: Final = 1.959964
LEAST_AGENTS: Final = 2
HEAD: Final = ("first", "second", "wins", "draws", "losses", "win_rate", "low", "high")


@dataclass(frozen=True)
class Pair:
    """How the matches of two agents ended, seen by the first."""

    first: str
    second: str
    wins: int
    draws: int
    losses: int

    @property
    def n(self) -> int:
        """Matches that have an outcome."""
        return self.wins + self.draws + self.losses

    @property
    def win_rate(self) -> float | None:
        """Wins and half of the draws, as a share; None before the first match."""
        return (self.wins + self.draws / 2) / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The win rate's interval of 95 %, after Wilson."""
        n, share = self.n, self.win_rate
        if share is None:
            return 0.0, 1.0
        middle, spread = (
            share + Z95**2 / (2 * n),
            Z95 * sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n)),
        )
        return (middle - spread) / (1 + Z95**2 / n), (middle + spread) / (1 + Z95**2 / n)

    def turned(self) -> "Pair":
        """Return the same, seen by the second."""
        return Pair(self.second, self.first, self.losses, self.draws, self.wins)


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    add = add_command(
        commands,
        "winrates",
        show_win_rates,
        has_file=True,
        examples="  evalsite winrates --run ppo --matches 200 --out tables\n"
        "  the same command goes on where it was stopped, and takes new checkpoints in",
    ).add_argument
    add(
        "--run",
        "--model",
        dest="of_run",
        required=True,
        metavar="NAME",
        help="whose checkpoints play",
    )
    add("--game", default="", help="needed where the run has checkpoints of more than one")
    add(
        "--matches",
        type=read_whole(2, 1_000_000),
        default=100,
        metavar="N",
        help="matches of each pair (100)",
    )
    add("-l", "--leaderboard", default="", help="where they are played (winrates-GAME-RUN)")
    add(
        "--out",
        "--save-dir",
        type=Path,
        metavar="DIR",
        help=f"folder for {FILE}.csv and {FILE}.json",
    )


def show_win_rates(client: Client, options: Namespace) -> Answer:
    """Play all pairs of a run until each has so many matches, and show the table."""
    out = following.find_stream(options)
    agents = find_agents(client, options.of_run, options.game)
    board = options.leaderboard or name_board(agents[0].game, options.of_run)
    try:
        _play_missing(client, agents, board, options.matches, out)
    except KeyboardInterrupt:
        complaint = (
            f"interrupted: the matches on {board} go on being played; the same command goes on"
        )
        return Answer(None, "", INTERRUPTED, complaint)
    pairs = read_pairs(client, agents, board)
    value = {"run": options.of_run, "game": agents[0].game, "leaderboard": board}
    value |= {"pairs": [describe_pair(pair) for pair in pairs]}
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        save_json(options.out / f"{FILE}.json", value)
        save_text(options.out / f"{FILE}.csv", write_csv(pairs))
    if isinstance(options.json, Path):
        save_json(options.json, value)
    complaint = describe_lack(pairs, options.matches)
    return Answer(value, draw_table([agent.name for agent in agents], pairs), 0, complaint)


def find_agents(client: Client, run: str, game: str) -> Sequence[Agent]:
    """Return the agents of a run's checkpoints by step. Raises InputError without a pair."""
    checkpoints = client.checkpoints.list(run=run)
    games = sorted({checkpoint.game for checkpoint in checkpoints if game in ("", checkpoint.game)})
    if len(games) > 1:
        raise InputError("game", f"is missing: {run!r} has checkpoints of {', '.join(games)}")
    agents = client.agents.of_run(run, game=games[0]) if games else []
    if len(agents) < LEAST_AGENTS:
        raise InputError("run", f"{run!r} has {len(agents)} checkpoint(s) here: two make a pair")
    return agents


def name_board(game: str, run: str) -> str:
    """Return what the leaderboard of a run's pairs is called."""
    return re.sub(r"[^a-z0-9-]+", "-", f"{FILE}-{game}-{run}".lower()).strip("-")[:60]


def _play_missing(
    client: Client, agents: Sequence[Agent], board: str, n_matches: int, out: TextIO
) -> None:
    """Follow what is under way on the board, then play what a pair still lacks."""
    game = agents[0].game
    if all(listed.name != board for listed in client.leaderboards.list(game=game)):
        client.leaderboards.open(name=board, game=game, title=f"Win rates of {agents[0].name}")
    tournaments = list(client.tournaments.list(leaderboard=board))
    for one in tournaments:
        if one.state in OPEN:
            if one.state == "paused":
                client.tournaments.resume(one.id)
            _follow_tournament(client, one.id, out)
    lacking = [n_matches - pair.n for pair in read_pairs(client, agents, board)]
    if max(lacking) <= 0:
        return
    following.write_line(out, following.wait_for_cluster(client))
    fields: list[tuple[Sequence[Agent], int]] = [
        (pair, n) for pair, n in zip(combinations(agents, 2), lacking, strict=True) if n > 0
    ]
    # As at the beginning, and as long as nothing was lost and no checkpoint came.
    if len(set(lacking)) == 1:
        fields = [(agents, lacking[0])]
    started = [
        client.tournaments.schedule(
            leaderboard=board,
            agents=[agent.id for agent in field],
            name=f"all pairs, {n_matches} each",
            # Both seats of each opening.
            n_matches=(n + n % 2) * (len(field) * (len(field) - 1) // 2),
            pairing=PAIRING,
            # Not the games of those before.
            seed=seed,
        )
        for seed, (field, n) in enumerate(fields, len(tournaments))
    ]
    for tournament in started:
        _follow_tournament(client, tournament.id, out)


def _follow_tournament(client: Client, tournament: int, out: TextIO) -> None:
    following.follow_tournament(client, tournament, out, timeout_s=None, fraction=1.0)
    _, lag = following.wait_for_ratings(client, tournament, limit_s=following.RATING_WAIT_S)
    if lag:
        following.write_line(out, f"Note: {lag}")


def read_pairs(client: Client, agents: Sequence[Agent], board: str) -> Sequence[Pair]:
    """Return what the board has counted of each pair, the earlier step first."""
    rated = {row.agent.id for row in client.leaderboards.ratings(board)}
    pairs = []
    for first, second in combinations(agents, 2):
        counts = (0, 0, 0)
        if {first.id, second.id} <= rated:
            head_to_head = client.leaderboards.compare(board, first.id, second.id).head_to_head
            counts = (head_to_head.n_wins, head_to_head.n_draws, head_to_head.n_losses)
        pairs.append(Pair(first.name, second.name, *counts))
    return pairs


def describe_pair(pair: Pair) -> dict[str, object]:
    """Return a pair as JSON has it."""
    low, high = pair.interval
    values = (pair.first, pair.second, pair.wins, pair.draws, pair.losses, pair.win_rate, low, high)
    return dict(zip(HEAD, values, strict=True))


def describe_lack(pairs: Sequence[Pair], n_matches: int) -> str:
    """Return which pairs have fewer matches than was asked for; empty if none has."""
    n_short = sum(pair.n < n_matches for pair in pairs)
    if not n_short:
        return ""
    return (
        f"{n_short} of {len(pairs)} pairs have fewer than {n_matches} matches with an outcome: "
        "the same command plays the rest"
    )


def draw_table(names: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Return the win rates of rows against columns."""
    rates = {
        (ordered_pair.first, ordered_pair.second): ordered_pair
        for pair in pairs
        for ordered_pair in (pair, pair.turned())
    }
    rows = [
        [row, *("" if row == column else _format_pair(rates[row, column]) for column in names)]
        for row in names
    ]
    return format_table(("win rate of", *(name.rpartition("@")[2] for name in names)), rows)


def _format_pair(pair: Pair) -> str:
    if pair.win_rate is None:
        return "-"
    low, high = pair.interval
    return f"{pair.win_rate:.2f} ({low:.2f}-{high:.2f})"


def write_csv(pairs: Sequence[Pair]) -> str:
    """Return a line for each pair."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEAD, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(describe_pair, pairs))
    return text.getvalue().rstrip("\n")
