"""Commands of alarms: list, acknowledge."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.cli.options import (
    add_command,
    add_limit,
    add_reason,
    page_size,
    read_whole,
    take_rows,
)
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client

HEAD = ("id", "agent", "ancestor", "leaderboard", "P(worse)", "raised", "acknowledged by")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    listed = add_command(commands, "alarms", show_alarms)
    listed.add_argument("-l", "--leaderboard")
    listed.add_argument("--open", action="store_true", help="only those nobody has acknowledged")
    add_limit(listed)
    acknowledging = add_command(
        commands, "acknowledge", acknowledge_alarm, examples="  evalsite acknowledge 4"
    )
    acknowledging.add_argument("alarm", type=read_whole(1), metavar="ID")
    add_reason(acknowledging, is_required=False)


def show_alarms(client: Client, options: Namespace) -> Answer:
    """List alarms of regressions, the newest first."""
    alarms = client.alarms.list(
        leaderboard=options.leaderboard, open=options.open or None, page_size=page_size(options)
    )
    shown_alarms = take_rows(alarms, options)
    rows = [
        (
            *(a.id, a.agent.name, a.ancestor.name, a.leaderboard),
            *(f"{a.probability:.1%}", a.at, a.acknowledged_by),
        )
        for a in shown_alarms
    ]
    return Answer(shown_alarms, format_table(HEAD, rows))


def acknowledge_alarm(client: Client, options: Namespace) -> Answer:
    """Note that somebody has seen an alarm; the first one is kept."""
    alarm = client.alarms.acknowledge(options.alarm, reason=options.reason)
    return Answer(alarm, f"alarm {alarm.id} was acknowledged by {alarm.acknowledged_by}")
