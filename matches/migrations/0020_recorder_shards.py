"""One mark for each recorder: they share the tournaments."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column; the row that is there is of the first recorder."""

    dependencies = (("matches", "0019_queues_of_long_names"),)

    operations = (
        migrations.AddField(
            model_name="recordermark",
            name="shard",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                unique=True,
                help_text="Of the tournaments; each has a queue.",
            ),
        ),
    )
