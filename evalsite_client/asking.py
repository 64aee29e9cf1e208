"""Waiting for the verdict of a campaign."""

from collections.abc import Callable

from evalsite_client.campaigns import CampaignCalls, CampaignDetail
from evalsite_client.errors import WaitTimeoutError

Show = Callable[[CampaignDetail], None]


class Campaigns(CampaignCalls):
    """Campaigns with their calls, and the wait for one."""

    def wait(
        self,
        campaign: int,
        *,
        progress: Show | None = None,
        timeout_s: float | None = None,
        poll_s: float = 1.0,
    ) -> CampaignDetail:
        """Return the campaign once it has ended, with an answer or without.

        progress: told at every look. Raises WaitTimeoutError after timeout_s; the campaign goes on
        then, as after Ctrl-C.
        """
        clock = self._transport.clock
        begun_s = clock.monotonic()
        while True:
            found = self.get(campaign)
            if progress is not None:
                progress(found)
            if found.is_over:
                return found
            if timeout_s is not None and clock.monotonic() - begun_s >= timeout_s:
                raise WaitTimeoutError(f"campaign {campaign} has no verdict after {timeout_s:g} s")
            clock.sleep(poll_s)
