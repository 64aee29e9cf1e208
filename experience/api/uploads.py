"""POST /api/v1/experience/: what a client saw and did, as one chunk.

One asynchronous view without Django's middleware for pages: `evalsite/asgi.py` leads to it by a
short way. Each step that is not asynchronous costs a change of thread: on two busy cores a request
through all of it took ten times as long.
"""

from http import HTTPStatus
from time import monotonic, time
from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException, MethodNotAllowed
from rest_framework.views import APIView

from experience.errors import BodyError
from experience.ingest import accepting, bodies, callers
from matches.api.authentication import TokenAuthentication
from matches.api.base import JsonOnly
from matches.api.errors import PROBLEM, build_problem
from matches.errors import MatchError

UNKNOWN_VERSION_HELP: Final = "-1: no policy of ours, such as a human."


class ChunkSerializer(serializers.Serializer[Any]):
    """Consecutive steps of one client, 1 to 1,024; docs/experience.md says what each field holds.

    In MessagePack the arrays are raw little-endian bytes.
    """

    v = serializers.IntegerField(min_value=1, max_value=1)
    game = serializers.CharField(max_length=200)
    chunk_id = serializers.RegexField("^[0-9a-f]{32}$", help_text="A UUID that the client draws.")
    policy_version = serializers.IntegerField(min_value=-1, help_text=UNKNOWN_VERSION_HELP)
    episodes = serializers.ListField(child=serializers.IntegerField())
    steps = serializers.ListField(child=serializers.IntegerField(min_value=0))
    observations = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField())
    )
    next_observations = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="At the end of an episode its last one, not the first of the next.",
    )
    actions = serializers.ListField(child=serializers.IntegerField(min_value=0))
    rewards = serializers.ListField(child=serializers.FloatField())
    terminated = serializers.ListField(child=serializers.BooleanField())
    truncated = serializers.ListField(child=serializers.BooleanField())
    log_probs = serializers.ListField(
        child=serializers.FloatField(max_value=0, allow_null=True),
        help_text="Of the action under the policy that chose it; null where it is not known.",
    )


class AcceptedSerializer(serializers.Serializer[Any]):
    """The chunk is on the stream server's disk: now (202), or it was before (200)."""

    accepted = serializers.IntegerField(help_text="Steps that were added.")
    duplicate = serializers.BooleanField(help_text="The chunk was accepted before.")
    latest_policy_version = serializers.IntegerField(
        help_text="What clients should play by now; -1: there is none."
    )
    keep_fraction = serializers.FloatField(
        help_text="How much of its next data the client should send: 1 while readers keep up."
    )


class UploadView(APIView):
    """Uploads of experience."""

    basename, action = "experience", "create"
    # The id of the chunk is the key.
    takes_key = False
    http_method_names = ["post"]
    authentication_classes = [TokenAuthentication]
    # A user has a quota of steps, not of calls.
    throttle_classes = ()
    content_negotiation_class = JsonOnly

    @extend_schema(
        request={"application/json": ChunkSerializer, "application/msgpack": OpenApiTypes.BINARY},
        responses={202: AcceptedSerializer, 200: AcceptedSerializer},
        parameters=[
            OpenApiParameter(
                "Content-Encoding",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                enum=["gzip", "identity"],
                description="gzip: the body is packed, at most 1 MiB sent and 8 MiB inflated.",
            )
        ],
    )
    async def create(self, request: HttpRequest, user: int) -> JsonResponse:
        """Upload a chunk of experience. Its id is the key: sent again, it is stored once."""
        content, form = bodies.read_body(request)
        accepted = await accepting.accept_chunk(
            content, form, user=user, now_s=time(), clock=monotonic
        )
        is_new = accepted.n_accepted > 0
        body = {
            "accepted": accepted.n_accepted,
            "duplicate": not is_new,
            "latest_policy_version": accepted.latest_policy_version,
            "keep_fraction": accepted.keep_fraction,
        }
        return JsonResponse(body, status=HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK)

    # Django asks by the method whether a view is asynchronous, the table of rights by the action.
    post = create

    async def dispatch(self, request: HttpRequest, *_: Any, **__: Any) -> JsonResponse:  # type: ignore[override]
        """Answer a request; DRF's own way is not asynchronous."""
        self.headers = self.default_response_headers
        try:
            if request.method != "POST":
                raise MethodNotAllowed(request.method or "")
            credentials = request.headers.get("Authorization", "")
            user = await callers.find_user(credentials, self._check_caller, clock=monotonic)
            answer = await self.create(request, user)
        except BodyError as error:
            problem = build_problem(error.status, str(error), request.path)
            answer = JsonResponse(problem, status=error.status, content_type=PROBLEM)
        except (APIException, MatchError) as error:
            answer = self._answer_error(error)
        answer["Content-Length"] = str(len(answer.content))
        answer["Cache-Control"] = "no-store"
        return answer

    def _check_caller(self) -> int:
        """Return the user's key where token, scope and right let it upload. Raises APIException."""
        request = self.initialize_request(self.request)
        self.initial(request)
        user: Any = request.user
        return int(user.pk)

    def _answer_error(self, error: Exception) -> JsonResponse:
        # The problem of all endpoints, without the renderers that DRF would ask.
        response = self.handle_exception(error)
        headers = {name: value for name, value in response.items() if name != "Content-Type"}
        if (wait_s := getattr(error, "retry_after_s", None)) is not None:
            headers["Retry-After"] = str(wait_s)
        status = response.status_code
        return JsonResponse(response.data, status=status, headers=headers, content_type=PROBLEM)
