"""The schema of the API as a document: made once per process and form, for it does not change."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.permissions import MayRead

_kept: dict[str, tuple[str | bytes, str]] = {}


class SchemaView(SpectacularAPIView):
    """The schema, as YAML or JSON. Making it takes a tenth of a second: it visits every view."""

    permission_classes = [MayRead]

    def _get_schema_response(self, request: Request) -> Response | HttpResponse:
        # Anybody may ask for any version: not kept, else memory would grow by their wishes.
        if "version" in request.query_params:
            return super()._get_schema_response(request)  # type: ignore[no-any-return, no-untyped-call]
        renderer: Any = getattr(request, "accepted_renderer", None)
        form = str(renderer.media_type)
        if form not in _kept:
            made = super()._get_schema_response(request)  # type: ignore[no-untyped-call]
            written = renderer.render(made.data, form, {"request": request, "view": self})
            _kept[form] = (written, made.headers["Content-Disposition"])
        text, disposition = _kept[form]
        media_type = f"{form}; charset={renderer.charset}" if renderer.charset else form
        return HttpResponse(text, media_type, headers={"Content-Disposition": disposition})
