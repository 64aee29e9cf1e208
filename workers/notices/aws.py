"""AWS: IMDSv2; two minutes ahead of the end of a spot instance.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
"""

import re
from http import HTTPStatus

import msgspec

from workers.notices.base import Answer, Metadata, Notice

TOKEN = "/latest/api/token"
ACTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"
TOKEN_S = 21_600


class _Action(msgspec.Struct):
    action: str
    time: str


class _Recommendation(msgspec.Struct, rename="camel"):
    notice_time: str


class Aws:
    """Asks with a token, and with a new one when it has run out."""

    name = "aws"

    def __init__(self, metadata: Metadata) -> None:
        self._metadata, self._token = metadata, ""

    def is_here(self) -> bool:
        """Return True where a token is given out. Raises NoticeError elsewhere."""
        self._fetch_token()
        return True

    def read_notice(self) -> Notice | None:
        """Return that the instance is taken, else that leaving it is recommended."""
        if (answer := self._read(ACTION)) is not None:
            action = answer.read_json(_Action)
            return Notice(f"aws {action.time}", f"AWS: {action.action} at {action.time}")
        if (answer := self._read(REBALANCE)) is not None:
            at = answer.read_json(_Recommendation).notice_time
            # Only a higher risk: the instance may live on for hours.
            return Notice(f"aws rebalance {at}", f"AWS: rebalance, said at {at}", is_final=False)
        return None

    def _read(self, path: str) -> Answer | None:
        """Return what stands there; None where nothing does, which is a 404."""
        answer = self._ask_metadata(path)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._token = ""
            answer = self._ask_metadata(path)
        return None if answer.status == HTTPStatus.NOT_FOUND else answer

    def _ask_metadata(self, path: str) -> Answer:
        if not self._token:
            self._fetch_token()
        return self._metadata.ask(path, {"X-aws-ec2-metadata-token": self._token})

    def _fetch_token(self) -> None:
        lasting = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_S)}
        answer = self._metadata.ask(TOKEN, lasting, method="PUT")
        token = answer.read_text()
        # It goes into a header: a page of somebody else's is none.
        if not re.fullmatch(r"[\w+/=.-]{1,1000}", token, re.ASCII):
            raise answer.refuse()
        self._token = token
