"""The likeliest order of a campaign that ranks, as judged last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """The new column may be empty, so that the old code can go on beside it."""

    dependencies = (("matches", "0024_usage"),)

    operations = (
        migrations.AddField(
            model_name="campaign",
            name="ranking",
            field=models.JSONField(
                editable=False,
                help_text="Of a ranking: entrants by position, the likeliest best first, each "
                "with P(it is better than the next).",
                null=True,
            ),
        ),
    )
