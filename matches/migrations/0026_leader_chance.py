"""P(best) of the leader of each board, written with its settled ratings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """The new column may be empty, so that the old code can go on beside it."""

    dependencies = (("matches", "0025_rankings"),)

    operations = (
        migrations.AddField(
            model_name="leaderboard",
            name="leader_p_best",
            field=models.FloatField(
                editable=False,
                help_text="P(the first rank is the best), by the settled ratings; empty: not "
                "known yet.",
                null=True,
            ),
        ),
    )
