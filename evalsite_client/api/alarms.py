"""Alarms of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from evalsite_client.api.shared import Alarm
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


class Alarms(Calls):
    """Alarms, the newest first."""

    def list(
        self,
        *,
        leaderboard: str | None = None,
        open: bool | None = None,
        page_size: int | None = None,
    ) -> Rows[Alarm]:
        """Yield alarms, fetched page by page as they are asked for."""
        return self._rows(
            Alarm, "alarms", {"leaderboard": leaderboard, "open": open, "page_size": page_size}
        )

    def get(self, alarm: int) -> Alarm:
        """Return one alarm."""
        return self._get(Alarm, f"alarms/{alarm}")

    def acknowledge(self, alarm: int, *, reason: str = "", key: str | None = None) -> Alarm:
        """Note that somebody has seen it; the first one is kept."""
        return self._post(Alarm, f"alarms/{alarm}/acknowledge", {"reason": reason}, key=key)
