"""The Celery app of control, recorder and beat; Flower, play and gpu nodes have their own."""

import os
import sys
from importlib import import_module
from threading import Thread

from celery import Celery
from celery.signals import task_prerun, worker_init
from django.conf import settings
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

app = Celery("evalsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Celery would open a new database connection for every task; Django's own rule keeps one for
# EVALSITE_CONN_MAX_AGE and replaces one that is broken.
app.conf.update(CELERY_DB_REUSE_MAX=sys.maxsize)
app.autodiscover_tasks()
# "Current" counts for the importing thread only; the web server works in others.
app.set_default()


@task_prerun.connect
def replace_broken_connections(**_: object) -> None:
    """Close connections that are too old or that failed in the task before."""
    close_old_connections()


@worker_init.connect
def keep_users(**_: object) -> None:
    """Have control make the users of programs and nodes, before it needs its own."""
    if any(settings.EVALSITE_ADMIN_URLS.values()):
        admission = import_module("matches.nodes.server_users")  # its models need the apps first
        Thread(target=admission.keep_copied, daemon=True).start()
