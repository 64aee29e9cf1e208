"""An index of the matches that are void or cancelled: lists of them must not read all others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Partial: a match that is played costs nothing of it."""

    dependencies = (("matches", "0021_days_of_small_columns"),)

    operations = (
        migrations.AddIndex(
            model_name="match",
            index=models.Index(
                fields=["state", "id"],
                condition=models.Q(state__in=("void", "cancelled")),
                name="match_unplayed",
            ),
        ),
    )
