"""Google Cloud: `preempted` turns TRUE half a minute ahead of the end.

https://cloud.google.com/compute/docs/instances/create-use-spot#detect-preemption
"""

from workers.notices.base import Metadata, Notice

PREEMPTED = "/computeMetadata/v1/instance/preempted"
FLAVOR = {"Metadata-Flavor": "Google"}
_WORDS = {"TRUE": True, "FALSE": False}


class Gcp:
    """Asks with the header that its metadata wants, and believes only who sends it back."""

    name = "gcp"

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def is_here(self) -> bool:
        """Return True where the address answers as Google's does. Raises NoticeError elsewhere."""
        self._is_preempted()
        return True

    def read_notice(self) -> Notice | None:
        """Return that the instance is preempted."""
        return Notice("gcp preempted", "Google Cloud: preempted") if self._is_preempted() else None

    def _is_preempted(self) -> bool:
        answer = self._metadata.ask(PREEMPTED, FLAVOR)
        word = answer.read_text()
        if answer.headers.get("metadata-flavor") != "Google" or word not in _WORDS:
            raise answer.refuse()
        return _WORDS[word]
