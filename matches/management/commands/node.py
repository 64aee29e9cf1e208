"""`./run manage node`: who may play. Prints the lines of a node's environment."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from matches.errors import MatchError
from matches.models import NodeKey
from matches.nodes import joining, node_keys
from matches.store.auditing import COMMAND_LINE
from matches.store.clock import db_now

ENVIRONMENTS = {
    "gpu": node_keys.build_gpu_environment,
    "head": node_keys.build_head_environment,
    "trainer": node_keys.build_trainer_environment,
}


class Command(BaseCommand):
    """Admit, list and refuse play nodes; control tells the servers within a second."""

    help = (
        "Say who may be a play node: `add NAME` prints its environment (again, if it is admitted "
        "already; of several names one after the other), `replace NAME` gives it new secrets, "
        "`revoke NAME` shuts it out, `list` shows; `invite NAME` prints the command by which a "
        "machine becomes that node."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="who is admitted and who was")
        for act in ENVIRONMENTS:
            acts.add_parser(act, help=f"print the environment of a {act} on another machine")
        invite = acts.add_parser("invite", help="let one machine join as a node, once")
        invite.add_argument("names", nargs=1, metavar="name", help="of the node")
        span = f"1 to {joining.MAX_MINUTES}, {joining.MINUTES} if not given"
        invite.add_argument(
            "--minutes",
            type=int,
            choices=range(1, joining.MAX_MINUTES + 1),
            default=joining.MINUTES,
            metavar="M",
            help=f"how long the token is good: {span}",
        )
        for act, text in (
            ("add", "admit a node, or print its environment again"),
            ("replace", "give a node new secrets; the old ones are refused"),
            ("revoke", "shut a node out"),
        ):
            n_names = "+" if act == "add" else 1
            acts.add_parser(act, help=text).add_argument(
                "names", nargs=n_names, metavar="name", help="of the node"
            )

    def handle(self, *_args: Any, act: str, **options: Any) -> None:
        """Do one act."""
        try:
            # Of several names all or none.
            with transaction.atomic():
                for number, name in enumerate(options.get("names", [""])):
                    self.stdout.write("\n" if number else "", ending="")
                    self._do_act(act, name, options)
        except MatchError as error:
            raise CommandError(str(error), returncode=2) from error

    def _do_act(self, act: str, name: str, options: dict[str, Any]) -> None:
        if act in ENVIRONMENTS:
            self._print_variables(ENVIRONMENTS[act]())
        elif act == "invite":
            granted = joining.grant_join_token(
                name, minutes=options["minutes"], actor=COMMAND_LINE, now=db_now()
            )
            url = settings.EVALSITE_SITE_URL
            self.stdout.write(f"./run node --join {url} --token {granted.token}")
        elif act == "list":
            for key in NodeKey.objects.all():
                state = "admitted" if key.revoked_at is None else f"revoked {key.revoked_at:%F %R}"
                self.stdout.write(f"{key.name:<60} {state}")
        elif act == "revoke":
            node_keys.revoke_node(name, actor=COMMAND_LINE, now=db_now())
            self.stdout.write(f"{name} is let in no more")
        else:
            # Both print the whole environment: adding a node twice only shows it again.
            change = node_keys.add_node if act == "add" else node_keys.replace_secrets
            key = change(name, actor=COMMAND_LINE, now=db_now())
            self._print_variables(node_keys.build_environment(key))

    def _print_variables(self, variables: dict[str, str]) -> None:
        for name, value in variables.items():
            self.stdout.write(f"{name}={value}")
