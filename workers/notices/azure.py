"""Azure: scheduled events; at least half a minute ahead of an eviction.

https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

from typing import Annotated

import msgspec

from workers.notices.base import Metadata, Notice

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
NAME = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
HEADER = {"Metadata": "true"}
# A freeze is over after seconds, and nothing is lost by it.
ENDING = ("Preempt", "Terminate", "Reboot", "Redeploy")
Texts = Annotated[list[str], msgspec.Meta(max_length=10_000)]


class _Event(msgspec.Struct, rename="pascal"):
    event_id: str
    event_type: str
    resources: Texts = []
    not_before: str = ""


class _Events(msgspec.Struct, rename="pascal"):
    events: list[_Event]


class Azure:
    """Looks for its own machine among the events of a set of machines."""

    name = "azure"

    def __init__(self, metadata: Metadata) -> None:
        self._metadata, self._machine = metadata, ""

    def is_here(self) -> bool:
        """Return True where events are listed. Raises NoticeError elsewhere."""
        self._metadata.ask(EVENTS, HEADER).read_json(_Events)
        return True

    def read_notice(self) -> Notice | None:
        """Return the first event that ends this machine."""
        events = self._metadata.ask(EVENTS, HEADER).read_json(_Events).events
        ending = [event for event in events if event.event_type in ENDING]
        for event in ending:
            # Those of the other machines of the set stand in the same list.
            if self._read_machine() in (name.casefold() for name in event.resources):
                when = f" after {event.not_before}" if event.not_before else ""
                return Notice(f"azure {event.event_id}", f"Azure: {event.event_type}{when}")
        return None

    def _read_machine(self) -> str:
        if not self._machine:
            answer = self._metadata.ask(NAME, HEADER)
            self._machine = answer.read_text().casefold()
            if not self._machine:
                raise answer.refuse()
        return self._machine
