"""How the HTTP routes answer: an observation, or what is wrong and where."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from llmserve_env.errors import EpisodeOrderError, InvalidFieldError, UnavailableError
from llmserve_env.models import ServeObservation

INVALID, CONFLICT, UNAVAILABLE = 422, 409, 503


def write_observation(observation: ServeObservation) -> dict[str, Any]:
    """Return an observation as OpenEnv's WebSocket does, with its metadata."""
    return {
        "observation": observation.model_dump(exclude={"reward", "done"}),
        "reward": observation.reward,
        "done": observation.done,
        "metadata": observation.metadata,
    }


def add_error_handlers(app: FastAPI) -> None:
    """Answer what is wrong with a request by its status, naming the field."""
    app.add_exception_handler(RequestValidationError, _tell_fields)
    app.add_exception_handler(ValidationError, _tell_fields)
    app.add_exception_handler(InvalidFieldError, _tell_field)
    app.add_exception_handler(EpisodeOrderError, _tell_conflict)
    app.add_exception_handler(UnavailableError, _tell_unavailable)


def _tell_fields(_: Request, error: Any) -> Response:
    return _refuse(INVALID, describe_errors(error.errors()))


def _tell_field(_: Request, error: Any) -> Response:
    return _refuse(INVALID, [{"field": error.field, "message": error.rule}])


def _tell_conflict(_: Request, error: Exception) -> Response:
    return _refuse(CONFLICT, str(error))


def _tell_unavailable(_: Request, error: Exception) -> Response:
    return _refuse(UNAVAILABLE, str(error))


def describe_errors(errors: Sequence[Any]) -> list[dict[str, str]]:
    """Return which fields are wrong, and how; not their values, which may be anything."""
    return [
        {
            # FastAPI begins with where it looked: body, query, header.
            "field": ".".join(map(str, error["loc"][1:] or error["loc"])),
            "message": error["msg"],
        }
        for error in errors
    ]


def _refuse(status: int, detail: Any) -> Response:
    # ASCII only: the name of a field may hold characters that have no encoding.
    return Response(json.dumps({"detail": detail}), status, media_type="application/json")
