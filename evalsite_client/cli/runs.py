"""Commands of training runs: begun, listed, looked at, stopped, resumed."""

from argparse import SUPPRESS, ArgumentParser, Namespace, _SubParsersAction
from inspect import signature
from typing import Final

from evalsite_client.api.runs import Runs, TrainingRun
from evalsite_client.cli.options import (
    SHOWN,
    add_command,
    add_limit,
    add_reason,
    page_size,
    read_pair,
    read_whole,
    take_rows,
)
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.client import Client

HEAD: Final = ("name", "game", "algorithm", "state", "steps", "of", "version", "trainer", "problem")
# What the server takes where nothing is said: it stands in the generated call.
DEFAULTS: Final = {
    name: parameter.default for name, parameter in signature(Runs.start).parameters.items()
}
FAILED: Final = 1
STEPS: Final = "it ends once it has learned from so many"


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `runs`, which lists them unless a further word says more."""
    listed = add_command(
        commands,
        "runs",
        show_runs,
        examples="  evalsite runs start poles --game cart_pole --margin 20\n"
        "  evalsite runs start four --game connect_four --algorithm ppo_selfplay "
        "-p network=lines --max-steps 400000\n"
        "  evalsite runs show poles\n"
        "  evalsite runs stop poles\n"
        "  evalsite runs resume poles --max-steps 400000",
    )
    _add_filters(listed)
    actions = listed.add_subparsers(metavar="ACTION")
    # Without defaults of their own: what stands before the verb must not be lost.
    _add_filters(add_command(actions, "list", show_runs), default=SUPPRESS, limit=SUPPRESS)
    _add_start(add_command(actions, "start", start_run))
    add_command(actions, "show", show_run).add_argument("name")
    stopped = add_command(actions, "stop", stop_run)
    stopped.add_argument("name")
    add_reason(stopped, is_required=False)
    resumed = add_command(actions, "resume", resume_run)
    resumed.add_argument("name")
    resumed.add_argument("--max-steps", type=read_whole(1), metavar="N", help=f"{STEPS} in all")
    add_reason(resumed, is_required=False)


def _add_filters(
    parser: ArgumentParser, *, default: str | None = None, limit: int | str = SHOWN
) -> None:
    parser.add_argument("--game", default=default)
    parser.add_argument(
        "--state", default=default, choices=("running", "done", "stopped", "failed")
    )
    add_limit(parser, limit)


def _add_start(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="also of its checkpoints")
    # Not required: it may stand before the verb.
    parser.add_argument("--game", default=SUPPRESS)
    parser.add_argument(
        "--algorithm", default=DEFAULTS["algorithm"], help="without it: %(default)s"
    )
    parser.add_argument(
        *("-p", "--parameter"), type=read_pair, action="append", default=[],
        metavar="NAME=VALUE", help="of the algorithm; several times",
    )  # fmt: skip
    parser.add_argument("--dataset", metavar="NAME", help="to learn from; without it uploads")
    for name, kind, text in (
        ("seed", read_whole(), "of weights and matches"),
        ("max-steps", read_whole(1), STEPS),
        ("slice-s", float, "seconds that a trainer keeps it before the next may take it"),
        ("margin", float, "by how much a release may be worse than its best ancestor"),
        ("release-s", float, "seconds between two candidates for a release"),
        ("release-steps", read_whole(1), "or steps"),
        ("budget", read_whole(2), "matches that judging a candidate may cost"),
    ):
        default = DEFAULTS[name.replace("-", "_")]
        parser.add_argument(
            f"--{name}", type=kind, default=default, help=f"{text}; without it: %(default)s"
        )


def show_runs(client: Client, options: Namespace) -> Answer:
    """List training runs, the newest first."""
    filters = {"game": options.game, "state": options.state}
    runs = take_rows(client.runs.list(**filters, page_size=page_size(options)), options)
    return Answer(runs, format_table(HEAD, [_make_row(run) for run in runs]))


def show_run(client: Client, options: Namespace) -> Answer:
    """Show how far a training run is, and why it ended; exit status 1 if it failed."""
    run = client.runs.get(options.name)
    more = {"dataset": run.dataset, "parameters": run.parameters, "metrics": run.metrics}
    times = {"begun": run.created_at, "heard": run.reported_at, "ended": run.ended_at}
    row = dict(zip(HEAD, _make_row(run), strict=True))
    has_failed = run.state == "failed"
    again = f"`evalsite runs resume {run.name}`; other parameters take a run of another name"
    ending = {"next": again} if has_failed else {}
    return Answer(
        run,
        format_pairs({**row, **more, **times, **ending}),
        status=FAILED if has_failed else 0,
    )


def start_run(client: Client, options: Namespace) -> Answer:
    """Begin a training run: a trainer takes it as soon as one is free."""
    names = DEFAULTS.keys() - {"self", "key", "parameters"}
    terms = {name: getattr(options, name) for name in names}
    run = client.runs.start(**terms, parameters=dict(options.parameter))
    return Answer(run, f"run {run.name} begins: `evalsite runs show {run.name}` says how far it is")


def stop_run(client: Client, options: Namespace) -> Answer:
    """End a training run; what it has published stays."""
    run = client.runs.stop(options.name, reason=options.reason)
    return Answer(run, f"run {run.name} is {run.state} after {run.n_steps:,} steps")


def resume_run(client: Client, options: Namespace) -> Answer:
    """Let a training run that has ended go on from the state that it left."""
    run = client.runs.resume(options.name, max_steps=options.max_steps, reason=options.reason)
    return Answer(run, f"run {run.name} goes on: {run.n_steps:,} of {run.max_steps:,} steps")


def _make_row(run: TrainingRun) -> list[object]:
    first = (run.name, run.game, run.algorithm, run.state, run.n_steps, run.max_steps)
    return [*first, run.version if run.version >= 0 else None, run.trainer, run.problem]
