"""Commands of operators: quarantine and release, declare void, have played again."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.cli.options import add_command, add_reason, read_whole
from evalsite_client.cli.row_numbers import choose_number
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client

_KINDS = ("agent", "worker")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    quarantine = add_command(
        commands,
        "quarantine",
        quarantine_row,
        examples='  evalsite quarantine agent run@2000 --reason "forfeits every third match"\n'
        '  evalsite quarantine worker 3 --reason "its results differ"',
    )
    release = add_command(commands, "release", release_row, examples="  evalsite release agent 7")
    for parser, is_required in ((quarantine, True), (release, False)):
        parser.add_argument("kind", choices=_KINDS)
        parser.add_argument("id", metavar="ID|NAME", help="its number, or its name")
        parser.add_argument("--game", default="", help="of the agent, where several have its name")
        add_reason(parser, is_required=is_required)
    void = add_command(
        commands,
        "void",
        void_matches,
        examples='  evalsite void 812 813 --reason "a wrong checkpoint"',
    )
    requeue = add_command(
        commands,
        "requeue",
        requeue_matches,
        examples='  evalsite requeue 812 813 --reason "mended"',
    )
    for parser in (void, requeue):
        parser.add_argument("matches", nargs="+", type=read_whole(1), metavar="MATCH")
        add_reason(parser, is_required=True)


def quarantine_row(client: Client, options: Namespace) -> Answer:
    """Send no more matches of an agent, or refuse the reports of a node."""
    number = choose_number(client, options.kind, options.id, game=options.game)
    if options.kind == "agent":
        agent = client.agents.quarantine(number, reason=options.reason)
        return Answer(agent, f"{agent.name} is in quarantine: its matches wait for its release")
    worker = client.workers.quarantine(number, reason=options.reason)
    return Answer(worker, f"{worker.node} is in quarantine: its reports are refused")


def release_row(client: Client, options: Namespace) -> Answer:
    """End the quarantine of an agent or a node."""
    number = choose_number(client, options.kind, options.id, game=options.game)
    if options.kind == "agent":
        agent = client.agents.release(number, reason=options.reason)
        return Answer(agent, f"{agent.name} is released")
    worker = client.workers.release(number, reason=options.reason)
    return Answer(worker, f"{worker.node} is released")


def void_matches(client: Client, options: Namespace) -> Answer:
    """Declare matches void: open ones end, outcomes are kept and count no more."""
    voided = client.matches.void(options.matches, reason=options.reason)
    rated = f"; rated again: {', '.join(voided.leaderboards)}" if voided.leaderboards else ""
    counts = (
        f"{voided.n_open} that were open, {voided.n_struck} with an outcome, "
        f"{voided.n_unchanged} were it before"
    )
    return Answer(voided, f"void: {counts}{rated}")


def requeue_matches(client: Client, options: Namespace) -> Answer:
    """Play void matches again: same agents, seats and game seed, each once."""
    requeued = client.matches.requeue(options.matches, reason=options.reason)
    lines = [
        f"{replacement.replaced} is played again as {replacement.match}"
        for replacement in requeued.replacements
    ]
    return Answer(requeued, "\n".join(lines))
