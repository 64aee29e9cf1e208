"""`./run manage seed_example`: fill an empty database with the example tournaments."""

from typing import Any

from django.core.management.base import BaseCommand

from matches.ledger.example_tournaments import schedule_examples


class Command(BaseCommand):
    """Schedule the example tournaments, once."""

    help = "Register the example agents and schedule the example tournaments, if there is nothing."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Do it, and say what was done."""
        tournaments = schedule_examples()
        if not tournaments:
            self.stdout.write("There are leaderboards already: no example was added.")
        for tournament in tournaments:
            self.stdout.write(
                f"Scheduled {tournament.name}: {tournament.n_matches} matches of "
                f"{tournament.leaderboard.game} between {tournament.agents.count()} agents."
            )
