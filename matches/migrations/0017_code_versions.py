from typing import Any

import django.db.models.deletion
from django.db import migrations, models

# What was shipped when versions began, each of it version 1 from the beginning. Plug-ins are not
# among them: which code their results came from is not known.
GAMES = (
    *("backgammon", "breakthrough", "chess", "connect_four", "go_9x9", "hex", "kuhn_poker"),
    *("kuhn_poker_3", "leduc_poker", "othello", "skill_game", "skill_teams", "tic_tac_toe"),
    "tiny_bridge",
)
POLICIES = ("alphabeta", "greedy", "level", "mcts", "network", "random")
ARCHITECTURES = ("gru", "mlp", "rescnn", "transformer")


def note_first_versions(apps: Any, _: Any) -> None:
    """Give rows of shipped code their version; the others stay unknown."""
    agents = apps.get_model("matches", "Agent").objects.filter(policy__in=POLICIES)
    plain = models.Q(checkpoint=None) | models.Q(checkpoint__architecture__in=ARCHITECTURES)
    agents.filter(pk__in=agents.filter(plain).values("pk")).update(version="1")
    boards = apps.get_model("matches", "Leaderboard").objects
    boards.filter(game__in=GAMES).update(game_version="1")


class Migration(migrations.Migration):
    dependencies = [("matches", "0016_schedule_since")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="version",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Of its code: as declared, of a plug-in the SHA-256 of its file.",
                max_length=140,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="newer",
            field=models.ForeignKey(
                editable=False,
                help_text="The agent of its name since its code was changed.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="older",
                to="matches.agent",
            ),
        ),
        migrations.AddField(
            model_name="leaderboard",
            name="game_version",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Of the rules it was opened under: as declared, of a plug-in the "
                "SHA-256 of its file.",
                max_length=140,
            ),
        ),
        migrations.AddField(
            model_name="tournament",
            name="n_differing",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="Of those done: played again, and came out otherwise than before.",
            ),
        ),
        migrations.RunPython(note_first_versions, migrations.RunPython.noop),
    ]
