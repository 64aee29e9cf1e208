"""A short way to the few addresses that many machines call often."""

from collections.abc import Mapping
from typing import Any, cast

from asgiref.sync import ThreadSensitiveContext
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response

from evalsite.bodies import Application, Receive, Send
from evalsite.metrics import AsyncAnswer, time_requests
from evalsite.policy import send_policy


class ShortWay(ASGIHandler):
    """Django without the middleware that is for pages, logins and static files.

    One that is not asynchronous moves every request to a thread and back: on two busy cores four
    clients got 76 answers a second with it and 812 without. So do the signals at the start and end
    of a request, for which Django makes a thread each time. Here only a view that asks the database
    gets one, by `database_sync_to_async`, which closes old connections as those signals would.
    """

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request; one whose client leaves is answered all the same."""
        handler: Any = self
        try:
            body = await handler.read_body(receive)
        except RequestAborted:
            return
        # What needs a thread gets one of its own: no request waits for the database of another.
        with body:
            async with ThreadSensitiveContext():
                request, problem = handler.create_request(scope, body)
                response = problem if request is None else await handler.run_get_response(request)
            await handler.send_response(response, send)

    def load_middleware(self, is_async: bool = False) -> None:
        """Lead to the views by what measures requests and forbids browsers to run anything."""
        del is_async
        handler: Any = self  # the stubs leave out what a handler gives its middleware
        handler._view_middleware, handler._exception_middleware = [], []
        handler._template_response_middleware = []
        view: Any = convert_exception_to_response(handler._get_response_async)
        handler._middleware_chain = time_requests(cast(AsyncAnswer, send_policy(view)))


def divide_by_path(ways: Mapping[str, Application], *, otherwise: Application) -> Application:
    """Return the application that hands a request to the one of its path."""

    async def lead(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await ways.get(scope["path"], otherwise)(scope, receive, send)

    return lead
