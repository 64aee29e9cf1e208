"""Reads the command line, runs one command, says how it ended."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from evalsite_client.cli import (
    agents,
    alarms,
    campaigns,
    checkpoints,
    datasets,
    evaluate,
    explanations,
    games,
    gates,
    generate,
    leaderboards,
    models,
    operating,
    options,
    plugins,
    results,
    runs,
    schedules,
    seasons,
    tokens,
    tournaments,
    trajectories,
    watch,
    winrates,
    workers,
    xp_client,
)
from evalsite_client.cli.access import find_access
from evalsite_client.cli.converting import convert_files
from evalsite_client.cli.show import Answer, as_json
from evalsite_client.cli.stopping import INTERRUPTED, take_sigterm
from evalsite_client.client import Client
from evalsite_client.errors import (
    ChecksumError,
    ClientError,
    InputError,
    NotAllowedError,
    NotThereError,
    ProblemError,
)

FAILED: Final = 1
BAD_INPUT: Final = 2
# Their 1 says that a candidate fails or has regressed: no answer must not be taken for that.
VERDICTS: Final = {"gate", "watch"}
DESCRIPTION: Final = """\
Rate agents on an evalsite server: which is best, how sure that is, what it costs to be surer.
Begin with evaluate (ratings), campaign (a question), gate (for CI) or watch (a training run)."""
EPILOG: Final = """\
examples:
  export EVALSITE_URL=https://evalsite.example.org EVALSITE_TOKEN=...
  evalsite register mcts-100 --game connect_four --policy mcts -p simulations=100
  evalsite schedule -l connect-four -n 200 random mcts-100 --watch
  evalsite board connect-four
  evalsite compare random mcts-100 -l connect-four

exit status: 0 done, 1 failed or no answer, 2 refused or bad input, 3 a campaign without an answer,
130 Ctrl-C
"""
LISTING: Final = {
    "agents": ("agent", ": `evalsite agents` lists them"),
    "alarms": ("alarm", ": `evalsite alarms` lists them"),
    "campaigns": ("campaign", ": `evalsite campaigns` lists them"),
    "imports": ("import", ": `evalsite results` lists them"),
    "checkpoints": ("checkpoint", ": `evalsite checkpoints` lists them"),
    "datasets": ("dataset", ": `evalsite datasets` lists them"),
    "leaderboards": ("leaderboard", ": `evalsite boards` lists them"),
    "matches": ("match", ""),
    "models": ("model", ": `evalsite models` lists them"),
    "runs": ("training run", ": `evalsite runs` lists them"),
    "schedules": ("schedule", ": `evalsite schedules` lists them"),
    "tokens": ("token", ": `evalsite tokens` lists them"),
    "tournaments": ("tournament", ": `evalsite tournaments` lists them"),
    "workers": ("worker", ": `evalsite workers` lists them"),
}
"""A row of a noun, and what lists those that there are."""
ADDING: Final = (
    *(
        evaluate.add_commands,
        gates.add_commands,
        generate.add_commands,
        agents.add_commands,
        checkpoints.add_commands,
        leaderboards.add_commands,
        tournaments.add_commands,
        watch.add_commands,
        winrates.add_commands,
        campaigns.add_commands,
    ),
    *(
        schedules.add_commands,
        alarms.add_commands,
        explanations.add_commands,
        operating.add_commands,
        seasons.add_commands,
        results.add_commands,
        workers.add_commands,
        runs.add_commands,
        models.add_commands,
        xp_client.add_commands,
        datasets.add_commands,
    ),
    *(trajectories.add_commands, tokens.add_commands, plugins.add_commands, games.add_commands),
)


def build_parser() -> ArgumentParser:
    """Return the parser of the command line."""
    parser = ArgumentParser(
        prog="evalsite",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[options.make_common_options()],
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in ADDING:
        add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    _replace_closed_streams()
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:2] == ["checkpoints", "convert"]:
        return convert_files(words[2:])  # its options are its own
    command_line = build_parser().parse_args(words)
    command_line.json = getattr(command_line, "json", False)
    is_json = command_line.json is True  # else it may be the file that gets it
    # Of a command that comes to no answer, such as where nobody reads on what it writes.
    status = BAD_INPUT if command_line.command in VERDICTS else FAILED
    try:
        with take_sigterm():
            answer = _run_command(command_line)
        status = answer.status
        _write_answer(answer, is_json=is_json)
    except ClientError as error:
        _write_complaint(error, is_json=is_json)
        return BAD_INPUT if command_line.command in VERDICTS else _choose_status(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # Who read the output has seen enough (| head); Python must not flush it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return status
        sys.stderr.write(f"evalsite: {error}\n")
        return BAD_INPUT if command_line.command in VERDICTS else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _replace_closed_streams() -> None:
    """Let what is written to a stream that is closed (`>&-`) go nowhere: Python has None there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end


def _run_command(given: Namespace) -> Answer:
    user = getattr(given, "user", None)
    url, token = find_access(getattr(given, "url", None), getattr(given, "token", None), os.environ)
    with Client(
        url,
        token,
        password=tokens.ask_password(user) if user else None,
    ) as client:
        answer: Answer = given.run(client, given)
        return answer


def _write_answer(answer: Answer, *, is_json: bool) -> None:
    if is_json and answer.value is not None:
        sys.stdout.write(f"{as_json(answer.value)}\n")
    elif answer.text and not is_json:
        sys.stdout.write(f"{answer.text}\n")
    sys.stdout.flush()
    if answer.complaint:
        sys.stderr.write(f"evalsite: {answer.complaint}\n")


def _choose_status(error: ClientError) -> int:
    """Return 2 where the caller has to change something, 1 where another time it may work."""
    if isinstance(error, ProblemError):
        is_theirs = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        return BAD_INPUT if is_theirs and error.status != HTTPStatus.TOO_MANY_REQUESTS else FAILED
    # What comes wrong again and again comes no better another time.
    return BAD_INPUT if isinstance(error, InputError | ChecksumError) else FAILED


def _write_complaint(error: ClientError, *, is_json: bool) -> None:
    if is_json:
        sys.stderr.write(f"{as_json(_make_error_values(error), indent=None)}\n")
        return
    lines = [str(error)]
    if isinstance(error, NotThereError):
        lines = [_describe_missing(error)]
    elif isinstance(error, ProblemError) and error.errors:
        lines = [str(refusal) for refusal in error.errors]
    for line in lines:
        sys.stderr.write(f"evalsite: {line}\n")
    # Who is logged in is told by the server what is missing and how to get it.
    if isinstance(error, NotAllowedError) and error.status == HTTPStatus.UNAUTHORIZED:
        sys.stderr.write("evalsite: EVALSITE_TOKEN or --token logs in; see `evalsite token -h`\n")


def _describe_missing(error: NotThereError) -> str:
    """Return which row there is not; the server names it only by its address."""
    noun, _, path = error.instance.partition("/api/v1/")[2].partition("/")
    name = path.partition("/")[0]
    is_named = error.detail.startswith("there is no ") and error.detail.endswith(
        f" {unquote(name)}"
    )
    # The second is what servers before said.
    is_missing = is_named or "matches the given query" in error.detail
    if noun not in LISTING or not name or not is_missing:
        return str(error)
    singular, listing = LISTING[noun]
    return f"there is no {singular} {unquote(name)}{listing}"


def _make_error_values(error: ClientError) -> dict[str, Any]:
    if not isinstance(error, ProblemError):
        return {"error": type(error).__name__, "detail": str(error)}
    return {
        "error": type(error).__name__,
        "status": error.status,
        "title": error.title,
        "detail": error.detail,
        "errors": error.errors,
    }
