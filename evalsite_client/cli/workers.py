"""Command of workers: list."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from evalsite_client.api.workers import Worker
from evalsite_client.cli.options import add_command, add_limit, page_size, take_rows
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.client import Client

HEAD = ("id", "node", "alive", "slots", "capabilities and labels", "last seen")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    add_limit(add_command(commands, "workers", show_workers))


def show_workers(client: Client, options: Namespace) -> Answer:
    """List the nodes that play and those that answer for networks, the newest first."""
    shown_workers = take_rows(client.workers.list(page_size=page_size(options)), options)
    rows = [
        (
            worker.id,
            worker.node,
            worker.is_alive,
            worker.slots,
            _describe_labels(worker),
            worker.last_seen_at,
        )
        for worker in shown_workers
    ]
    return Answer(shown_workers, format_table(HEAD, rows))


def _describe_labels(worker: Worker) -> str:
    labels = (f"{name}={value}" for name, value in worker.labels.items())
    return " ".join([*worker.capabilities, *labels])
