"""Take reports off the queue: those that wait are recorded in one transaction."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from arena.errors import MessageError
from arena.messages import Report
from arena.task_messages import REPORT_TASKS, read_item
from matches import dispatch
from matches.ledger import recording
from matches.ledger.recording import RecordedCounts
from matches.store.failures import is_of_database, retry_while_database_is_away

log = logging.getLogger(__name__)


def receive_reports(wire: object, *, queue: str, clock: Callable[[], datetime]) -> RecordedCounts:
    """Record a report and those that wait behind it in the queue, which nobody else consumes.

    They are kept aside until they are recorded: a recorder that is killed loses none of them.
    """
    waiting = dispatch.set_reports_aside(queue)
    wires = [wire]
    if waiting is not None:
        wires = [*_read_items(waiting.left_over), wire, *_read_items(waiting.newer)]
    try:
        recorded = retry_while_database_is_away(
            lambda: recording.record_messages(wires, now=clock())
        )
    except Exception as error:  # whatever it is, what is aside would raise it again for ever
        if is_of_database(error):
            raise
        # Such as a NUL in a text: of what nodes send, only the report that has it is lost.
        log.warning("a batch is recorded one by one: %s", error)
        recorded = _receive_each(wires, clock=clock)
    if waiting is not None:
        dispatch.drop_reports_aside(queue)
    return recorded


def _receive_each(wires: Sequence[object], *, clock: Callable[[], datetime]) -> RecordedCounts:
    recorded = RecordedCounts()
    for wire in wires:
        try:
            recorded += recording.record_messages([wire], now=clock())
        except Exception as error:
            if is_of_database(error):
                raise
            log.exception("a report cannot be recorded")
            recorded += RecordedCounts(n_refused=1)
    return recorded


def _read_items(items: Sequence[bytes]) -> Iterator[Report]:
    for item in items:
        try:
            (report,) = read_item(item, REPORT_TASKS)
        except MessageError as error:
            log.warning("an item of the reports queue was dropped: %s", error)
        else:
            yield report
