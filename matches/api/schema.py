"""The schema of the API: what every endpoint takes and answers is said here once."""

from http import HTTPStatus
from typing import Any, Final, Literal, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from matches.api import idempotency
from matches.api.errors import PROBLEM
from matches.api.permissions import TABLE, Access, Endpoint


class RefusalSerializer(serializers.Serializer[Any]):
    """A value that was refused."""

    field = serializers.CharField()
    message = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """What went wrong, as RFC 9457 has it."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()


# A serializer has an attribute of the name of this field, so it cannot stand in the class.
ProblemSerializer._declared_fields["errors"] = RefusalSerializer(many=True)


_DESCRIPTIONS: Final = {
    HTTPStatus.BAD_REQUEST: "Values were refused; `errors` names each.",
    HTTPStatus.UNAUTHORIZED: "A login is needed, or the token is not valid.",
    HTTPStatus.FORBIDDEN: "The token lacks the scope, or its user the right.",
    HTTPStatus.NOT_FOUND: "Nothing is at this address.",
    HTTPStatus.CONFLICT: "It does not fit the state, or the first call of the key is under way.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too long.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is of a type that is not read here.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "The idempotency key stands for another call.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests; Retry-After says for how long to wait.",
    HTTPStatus.SERVICE_UNAVAILABLE: "A part of the system is away: try again.",
}
_ALWAYS = (
    *(HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
    *(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS),
)
_POST = (
    *(HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    *(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE),
)
_HEADERS: Final = {
    "GET": (
        OpenApiParameter(
            "If-None-Match",
            str,
            OpenApiParameter.HEADER,
            description="The ETag of an earlier answer: 304 without a body if nothing changed.",
        ),
        OpenApiParameter("ETag", str, OpenApiParameter.HEADER, response=[HTTPStatus.OK.value, 304]),
    ),
    "POST": (
        OpenApiParameter(
            idempotency.HEADER,
            {"type": "string", "pattern": "^[!-~]{1,255}$"},
            OpenApiParameter.HEADER,
            description="Any text of the client's: within a day the same call is done only once.",
        ),
    ),
}
_RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    description="Seconds.",
    response=[HTTPStatus.TOO_MANY_REQUESTS.value],
)


_VERBS: Final = {
    "list": "List the {tag}",
    "retrieve": "Show one {one}",
    "destroy": "Remove one {one}",
}


class ApiSchema(AutoSchema):
    """Adds to every operation its headers, its errors and who may call it."""

    def get_override_parameters(self) -> list[Any]:
        """Return the headers that a method takes and answers."""
        # What is called without a login is done as often as it comes.
        headers = () if self._find_access().is_proved else _HEADERS.get(self.method, ())
        return [*(headers if self._takes_key() else ()), _RETRY_AFTER]

    def get_summary(self) -> str:
        """Return the operation in a sentence: the first of its method, else its verb and object."""
        description: str = self.get_description()
        if (view := cast(Endpoint, self.view)).action in _VERBS and description == get_doc(
            type(view)
        ):
            return _VERBS[view.action].format(one=view.basename, tag=self.get_tags()[0])
        first_paragraph = " ".join(description.partition("\n\n")[0].split())
        return first_paragraph.partition(". ")[0].rstrip(".")

    def get_auth(self) -> list[dict[str, Any]]:
        """Return the ways to log in; an empty one where no login is needed."""
        access = self._find_access()
        ways: list[dict[str, Any]] = super().get_auth()
        return [*ways, {}] if access.is_public or access.is_proved else ways

    def get_extensions(self) -> dict[str, Any]:
        """Return the scope that a token needs."""
        access = self._find_access()
        return {"x-scope": access.scope.value, "x-right": access.right}

    def _get_response_bodies(
        self, direction: Literal["request", "response"] = "response"
    ) -> dict[str, Any]:
        """Return the answers, with the problems that stand for an error."""
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        if self.method == "GET":
            nothing = OpenApiResponse(description="Nothing has changed.")
            answers["304"] = self._describe_response(nothing, "304")
        problems = (*_ALWAYS, *(_POST if self.method == "POST" else ()))
        if not self._takes_key():
            problems = tuple(
                problem for problem in problems if problem != HTTPStatus.UNPROCESSABLE_ENTITY
            )
        for status in problems:
            described = OpenApiResponse(ProblemSerializer, _DESCRIPTIONS[status])
            code = str(status.value)
            answers[code] = self._describe_response(described, code, [PROBLEM])
        return answers

    def _takes_key(self) -> bool:
        """Say whether calls are done once by their key; of some another field is the key."""
        return bool(getattr(self.view, "takes_key", True))

    def _find_access(self) -> Access:
        view = cast(Endpoint, self.view)
        return TABLE[view.basename, view.action or ""]

    def _describe_response(self, *response: Any) -> Any:
        return self._get_response_for_code(*response)  # type: ignore[no-untyped-call]
