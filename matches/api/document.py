"""The schema of the API as a document: made once per process, for it does not change."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.permissions import MayRead

_schema: dict[str, Any] = {}
_kept: dict[str, str | bytes] = {}


def make_schema() -> dict[str, Any]:
    """Return the schema, made by the first call: for a quarter of a second it visits every view.

    The web process calls it as it starts, so that no reader waits for it.
    """
    if not _schema:
        generator = spectacular_settings.DEFAULT_GENERATOR_CLASS()
        _schema.update(generator.get_schema(request=None, public=True))
    return _schema


class SchemaView(SpectacularAPIView):
    """The schema, as YAML or JSON."""

    permission_classes = [MayRead]

    def _get_schema_response(self, request: Request) -> Response | HttpResponse:
        # Anybody may ask for any version: not kept, else memory would grow by their wishes.
        if "version" in request.query_params:
            return super()._get_schema_response(request)  # type: ignore[no-any-return, no-untyped-call]
        renderer: Any = getattr(request, "accepted_renderer", None)
        form = str(renderer.media_type)
        if form not in _kept:
            _kept[form] = renderer.render(make_schema(), form, {"request": request, "view": self})
        headers = {"Content-Disposition": f'inline; filename="{self._get_filename(request, None)}"'}  # type: ignore[no-untyped-call]
        media_type = f"{form}; charset={renderer.charset}" if renderer.charset else form
        return HttpResponse(_kept[form], media_type, headers=headers)
