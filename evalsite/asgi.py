"""The ASGI application: HTTP by Django, WebSockets by Channels."""

import gc
import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django_application = get_asgi_application()

# Consumers import models, which exist only now that Django is set up.
from evalsite.bodies import BoundedBodies
from evalsite.short_way import ShortWay, divide_by_path
from experience.ingest.bodies import MOST_SENT
from live.routing import ReadersOnly, websocket_urlpatterns
from matches.api.document import make_schema

application = ProtocolTypeRouter(
    {
        "http": divide_by_path(
            # Twice what is taken: somewhat too much is refused in the words of the API.
            {reverse("experience"): BoundedBodies(ShortWay(), limit=2 * MOST_SENT)},
            otherwise=BoundedBodies(django_application),
        ),
        # A foreign page must not read the board through its visitor's browser.
        "websocket": AllowedHostsOriginValidator(ReadersOnly(URLRouter(websocket_urlpatterns))),
    }
)

# Now rather than in the first request: every page, form and list of the API is imported.
reverse("admin:index")
make_schema()
# What was imported stays. Going through it took every full collection 0.2 s, in some request.
gc.collect()
gc.freeze()
