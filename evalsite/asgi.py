"""The ASGI application: HTTP by Django, WebSockets by Channels."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_asgi_application()
