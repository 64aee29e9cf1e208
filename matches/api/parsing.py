"""Bodies in JSON; what cannot be stored or written back is refused at once."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class JsonParser(JSONParser):
    """JSON as DRF reads it, without half surrogates and without endless nesting."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the value. Raises ParseError."""
        try:
            found = super().parse(stream, media_type, parser_context)
            json.dumps(found, ensure_ascii=False).encode()
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        except UnicodeEncodeError as error:
            raise ParseError(f"JSON parse error - no valid Unicode: {error.reason}") from error
        return found
