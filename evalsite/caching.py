"""Values of Django's cache as JSON: whoever may write the fast store makes nobody run code.

Django's own serializer unpickles what it reads.
"""

import logging

import msgspec
from django.utils.functional import Promise

log = logging.getLogger(__name__)


class JsonSerializer:
    """What Django's Redis cache writes and reads; whole numbers stay numbers for `incr`."""

    def dumps(self, value: object) -> bytes:
        """Return the value as JSON. Raises TypeError for what JSON cannot say."""

        def encode_text(part: object) -> str:
            if isinstance(part, str):  # such as HTML that a template has marked safe
                return str.__str__(part)
            if isinstance(part, Promise):  # a name that Django translates once it is shown
                return str(part)
            raise TypeError(f"{type(part).__name__} cannot be kept as JSON")

        return msgspec.json.encode(value, enc_hook=encode_text)

    def loads(self, stored: bytes) -> object:
        """Return the value, or None, as for a key that is not there, if it is no JSON."""
        try:
            return msgspec.json.decode(stored)
        except (msgspec.DecodeError, RecursionError):
            log.warning("a value of the cache that is no JSON is passed over")
            return None
