"""Static files, sent the way the server takes them: WhiteNoise knows only one of the two."""

from typing import Any

from django.http import FileResponse, HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware

from matches.store.streaming import stream_pieces


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """WhiteNoise whose answers Django need not gather."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> FileResponse:
        """Return the answer that sends a file."""
        answer: Any = WhiteNoiseMiddleware.serve(static_file, request)
        answer.streaming_content = stream_pieces(request, answer.streaming_content)
        return answer  # type: ignore[no-any-return]  # whitenoise has no types
