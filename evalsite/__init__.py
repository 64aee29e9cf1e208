"""Configuration only: settings, Celery app, ASGI, URLs, system checks, the stack of processes."""
