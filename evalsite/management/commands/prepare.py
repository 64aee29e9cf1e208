"""Brings the database up to date before the other processes start; `./run` calls it."""

import os
import secrets
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand

from evalsite.environment import read_number
from launcher.addresses import LOOPBACK, Ports, site_address
from launcher.folders import read_variables, write_generations, write_variables
from launcher.programs import node_name
from matches.access import tokens
from matches.models import Agent, NodeKey
from matches.nodes import node_keys
from matches.store.auditing import Actor
from matches.store.clock import db_now

ADMIN = "admin"
COMMAND_LINE_USER = "command-line"
# Address and token for `evalsite` on this machine; evalsite_client.cli.access reads it.
ACCESS = "client.env"
MAX_NODES = 10_000


class Command(BaseCommand):
    """Migrate; on the first start create the admin user and, if asked, the example."""

    help = "Migrate the database; the first time, create the admin user and print its password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--example", action="store_true", help="seed an empty database")

    def handle(self, *_: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        settings.STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise warns when it is missing
        if not get_user_model().objects.exists():
            password = secrets.token_urlsafe(12)
            get_user_model().objects.create_superuser(ADMIN, password=password)
            self.stdout.write(f"Admin user: {ADMIN}, password: {password} (shown only now)")
        self._admit_nodes()
        self._let_in_command_line()
        if options["example"] and not Agent.objects.exists():
            call_command("seed_example", stdout=self.stdout)

    def _admit_nodes(self) -> None:
        """Admit the nodes that the launcher will start, and tell it their generations.

        Those in quarantine too, or they would be started with secrets of old and stay shut out
        when they are released; control ends their users with its first look.
        """
        n_nodes = read_number("EVALSITE_NODES", 0, highest=MAX_NODES)
        names = [node_name(number) for number in range(1, n_nodes + 1)]
        node_keys.add_missing(names, actor=Actor("set-up"), now=db_now())
        keys = NodeKey.objects.filter(revoked_at=None)
        write_generations(settings.VAR, {key.name: key.generation for key in keys})

    def _let_in_command_line(self) -> None:
        """Keep address and token for the command line of this machine.

        The file gives away nothing: who can read the data folder can read the database as well.
        """
        path = settings.VAR / ACCESS
        before = read_variables(path).get("EVALSITE_TOKEN", "")
        name = "the command line on this machine"
        secret = tokens.find_or_issue_token(before, user=COMMAND_LINE_USER, name=name)
        url = os.environ.get("EVALSITE_SITE_URL") or site_address(
            os.environ.get("EVALSITE_HOST", LOOPBACK), Ports.from_environment(os.environ).web
        )
        write_variables(path, {"EVALSITE_URL": url, "EVALSITE_TOKEN": secret})
