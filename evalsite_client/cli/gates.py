"""`evalsite gate`: does a candidate beat its baseline? An exit status for CI."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evalsite_client.api.gates import Gate
from evalsite_client.cli import following
from evalsite_client.cli.options import add_command, read_whole, read_within, writable_file
from evalsite_client.cli.saving import save_json, save_text
from evalsite_client.cli.show import Answer, round_matches
from evalsite_client.cli.spelled import upload_files
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import ClientError
from evalsite_client.retries import ask_again

WORDS: Final = {"accept": "PASS", "reject": "FAIL", "continue": "UNDECIDED"}
EXIT: Final = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3, "INTERRUPTED": INTERRUPTED}
POINTS: Final = ("0", "1/2", "1", "3/2", "2")


def read_bounds(text: str) -> tuple[float, float]:
    """Take ELO0,ELO1."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"must be ELO0,ELO1 such as 0,20, got {text!r}") from None
    return low, high


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    new = add_command(
        commands,
        "gate",
        test_candidate,
        has_file=True,
        examples="  evalsite gate --candidate mcts:100 --baseline alphabeta:4 --bounds 0,20 "
        "--game connect_four\n"
        "  What is known of the pair counts; asking again goes on with the same test.\n"
        "  exit status: 0 the candidate passes, 1 it fails, 2 error, 3 undecided, 130 Ctrl-C",
    )
    flag = new.add_argument
    flag("--candidate", required=True, metavar="AGENT", help="a name, or a checkpoint's file")
    flag("--baseline", required=True, metavar="AGENT")
    flag(
        "--bounds",
        type=read_bounds,
        default=(0.0, 20.0),
        metavar="ELO0,ELO1",
        help="the two strengths to tell apart, in Elo (0,20)",
    )
    flag(
        "--alpha",
        type=read_within(0.0001, 0.4999),
        default=0.05,
        help="the probability of passing at ELO0 (%(default)s)",
    )
    flag(
        "--beta",
        type=read_within(0.0001, 0.4999),
        default=0.05,
        help="the probability of failing at ELO1 (%(default)s)",
    )
    flag(
        "--model",
        choices=("logistic", "normalised"),
        default="logistic",
        help="the scale of the bounds (%(default)s)",
    )
    flag(
        "--max-matches",
        type=read_whole(2, 100_000_000),
        default=20_000,
        help="the most matches that this call plays (%(default)s)",
    )
    flag("--game", default="", help="when agents of several games have these names")
    flag("--leaderboard", default="", help="default: one for the gates of the game")
    flag("--markdown", type=writable_file, metavar="FILE", help="a summary for people")


def test_candidate(client: Client, options: Namespace) -> Answer:
    """Test a candidate against a baseline until it passes, fails, or the budget is spent."""
    out = following.find_stream(options)
    named = [options.candidate, options.baseline]
    names = upload_files(client, named, game=options.game, out=out)
    elo0, elo1 = options.bounds
    before = client.gates.create(
        candidate=names[0],
        baseline=names[1],
        game=options.game,
        leaderboard=options.leaderboard,
        elo0=elo0,
        elo1=elo1,
        alpha=options.alpha,
        beta=options.beta,
        model=options.model,
        max_matches=options.max_matches,
    )
    if before.is_over:
        return _tell_standing(before, before, names, options)
    for line in before.forecast_in_words:
        following.write_line(out, f"  {line.label}: {line.says}")
    if before.budget_warning:
        following.write_line(out, f"  warning: {before.budget_warning}")
    following.write_line(out, following.wait_for_cluster(client))
    try:
        wait_for_gate(client, before.campaign, following.Lines(client, out))
    except KeyboardInterrupt:
        now = before
        # While the server is away: where it stood at the start.
        with suppress(ClientError):
            now = client.gates.get(before.campaign, with_forecast=True)
        answer = _tell_standing(now, before, names, options, grade="INTERRUPTED")
        why = "interrupted: the test goes on, and the same call follows it again"
        return Answer(answer.value, "", INTERRUPTED, why)
    now = client.gates.get(before.campaign, with_forecast=True)
    return _tell_standing(now, before, names, options)


def wait_for_gate(client: Client, campaign: int, lines: following.Lines) -> None:
    """Show the log-likelihood ratio until there is a verdict."""
    still = following.Standstill(client, lambda: client.campaigns.explain(campaign))
    looks = ask_again(lambda: client.gates.get(campaign), client.clock, poll_s=following.POLL_S)
    for now, trouble in looks:
        if now.is_over:
            break
        if trouble:
            lines.show(f"no answer: {trouble}")
        else:
            lines.show(f"{describe_gate(now)}{still.describe(now.n_games)}")


def describe_gate(gate: Gate) -> str:
    """Return where the test stands."""
    line = (
        f"LLR {gate.llr:+.2f} ({gate.lower:+.2f}, {gate.upper:+.2f}), {gate.n_games} games in "
        f"blocks {list(gate.blocks)}, {_count_reused(gate)} of them known before"
    )
    return f"{line}, about {round_matches(gate.n_left)} more" if gate.n_left else line


def _count_reused(gate: Gate) -> int:
    """Return how many games the test did not have to wait for; more may be known than it took."""
    return min(gate.n_known, gate.n_games)


def _tell_standing(
    now: Gate,
    before: Gate,
    names: Sequence[str],
    options: Namespace,
    *,
    grade: str = "",
) -> Answer:
    """Print where the test stands and write the files that were asked for."""
    out, grade = following.find_stream(options), grade or WORDS[now.decision]
    n_reused = now.n_games if before.is_over else _count_reused(now)
    line = describe_gate(now)
    if before.is_over:
        line = line.replace(f"{_count_reused(now)} of them known", f"{n_reused} of them known")
    following.write_line(out, line)
    verdict = now.statement or "there is no verdict yet"
    following.write_line(out, f"{grade}: {'; '.join(filter(None, (now.gap, verdict)))}")
    value = make_values(now, before, names, grade, n_reused) | {"at": datetime.now(UTC).isoformat()}
    if isinstance(options.json, Path):
        save_json(options.json, value)
    save_text(options.markdown, "\n".join(write_markdown(now, names, grade, n_reused)))
    return Answer(value, "", EXIT[grade])


def make_values(
    now: Gate, before: Gate, names: Sequence[str], grade: str, n_reused: int
) -> dict[str, Any]:
    """Return all of it. names: of candidate and baseline. grade: PASS, FAIL or UNDECIDED."""
    return {
        "result": grade.lower(),
        "candidate": names[0],
        "baseline": names[1],
        "llr": now.llr,
        "lower": now.lower,
        "upper": now.upper,
        "n_games": now.n_games,
        "n_reused": n_reused,
        "n_known": now.n_known,
        "n_known_elsewhere": now.n_known_elsewhere,
        "n_not_played_again": now.n_not_played_again,
        "blocks": list(now.blocks),
        "pairs": None if now.pairs is None else asdict(now.pairs),
        "forecast_before": None if before.forecast is None else asdict(before.forecast),
        "forecast": None if now.forecast is None else asdict(now.forecast),
        "statement": now.statement,
        "why": now.why,
        "tournament": now.tournament,
        "parameters": now.parameters,
    }


def write_markdown(now: Gate, names: Sequence[str], grade: str, n_reused: int) -> Iterator[str]:
    """Yield a summary: the test, its blocks, what they say and, while undecided, what is left."""
    parameters = now.parameters
    yield f"### {grade}: {names[0]} against {names[1]}"
    yield ""
    if now.gap:
        yield from (f"{names[0]} plays {now.gap}.", "")
    yield "| test | LLR | bounds | games | known before |"
    yield "|---|---|---|---|---|"
    gaps = f"{parameters['elo0']:g} against {parameters['elo1']:g} Elo"
    yield (
        f"| {gaps} ({parameters['model']}) | {now.llr:+.2f} "
        f"| {now.lower:+.2f}, {now.upper:+.2f} | {now.n_games} | {n_reused} |"
    )
    if now.saved:
        yield from ("", f"Saved: {now.saved}.")
    if now.pairs_in_words:
        yield from ("", *_write_row("points of two games", POINTS, has_rule=True))
        yield from _write_row("blocks", list(map(str, now.blocks)))
        yield ""
        lines = now.pairs_in_words
        yield from _write_row(lines[0].label, [line.label for line in lines[1:]], has_rule=True)
        yield from _write_row(lines[0].says, [line.says for line in lines[1:]])
    if now.forecast is not None:
        yield from ("", "Left to the verdict:")
        yield from (f"- {line.label}: {line.says}" for line in now.forecast_in_words)


def _write_row(label: str, cells: Sequence[str], *, has_rule: bool = False) -> Iterator[str]:
    yield f"| {label} | {' | '.join(cells)} |"
    if has_rule:
        yield "|---" * (len(cells) + 1) + "|"
