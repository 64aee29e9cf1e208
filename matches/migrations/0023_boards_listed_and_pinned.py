"""Boards that are rated but not listed, and boards that are pinned."""

from typing import Any

from django.db import migrations, models


def mark_unrated(apps: Any, _: Any) -> None:
    """Mark the boards of unrated play: so far they were the only ones that are not listed."""
    apps.get_model("matches", "Leaderboard").objects.filter(is_listed=False).update(is_rated=False)


class Migration(migrations.Migration):
    """New columns have defaults in the database, so that the old code can go on beside it."""

    dependencies = (("matches", "0022_unplayed_matches"),)

    operations = (
        migrations.AddField(
            model_name="leaderboard",
            name="is_rated",
            field=models.BooleanField(
                db_default=True,
                default=True,
                editable=False,
                help_text="False: only unrated play is kept here, and no page shows its ratings.",
            ),
        ),
        migrations.AddField(
            model_name="leaderboard",
            name="is_pinned",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Stands before the others there.",
                verbose_name="pinned",
            ),
        ),
        migrations.AlterField(
            model_name="leaderboard",
            name="is_listed",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Stands on the home page and in the list of leaderboards.",
                verbose_name="listed",
            ),
        ),
        migrations.RunPython(mark_unrated, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="leaderboard",
            index=models.Index(
                condition=models.Q(is_listed=True),
                fields=["-is_pinned", "-id"],
                name="board_listed",
            ),
        ),
    )
