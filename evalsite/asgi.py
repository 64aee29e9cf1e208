"""The ASGI application: HTTP by Django, WebSockets by Channels."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

http = get_asgi_application()

from live.routing import websocket_urlpatterns  # noqa: E402 - needs the apps that are now set up

application = ProtocolTypeRouter(
    {
        "http": http,
        # A page of another site must not read along with its visitor's connection.
        "websocket": AllowedHostsOriginValidator(URLRouter(websocket_urlpatterns)),
    }
)
