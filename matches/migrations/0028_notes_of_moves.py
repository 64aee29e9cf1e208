"""Outcomes keep the time and the value of each move: a column without a default, added at once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Rows of before have none; old code goes on inserting without it."""

    dependencies = (("matches", "0027_results_of_tournaments"),)

    operations = (
        migrations.AddField(
            model_name="outcome",
            name="notes",
            field=models.BinaryField(
                null=True,
                help_text="Time and value of each move (arena.move_notes); a copy has none.",
            ),
        ),
    )
