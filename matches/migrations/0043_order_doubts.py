from typing import Any

from django.db import migrations, models
from django.db.models import F


def copy_doubts(apps: Any, schema_editor: Any) -> None:
    """Leave ranks as they are until the next fit. A season keeps what it has."""
    ratings = apps.get_model("matches", "Rating").objects.using(schema_editor.connection.alias)
    ratings.update(order_sd=F("sd"))


class Migration(migrations.Migration):
    dependencies = [("matches", "0042_doubts_of_campaigns")]

    operations = [
        migrations.AddField(
            model_name="rating",
            name="order_sd",
            field=models.FloatField(
                db_default=8.333333333333334,
                default=8.333333333333334,
                help_text="Of it, what bears on ranks and P(best): not how far apart all are.",
            ),
        ),
        migrations.AddField(
            model_name="seasonrow",
            name="order_sd",
            field=models.FloatField(
                help_text="Of ranks; empty: of an early season, as sd.", null=True
            ),
        ),
        migrations.RunPython(copy_doubts, migrations.RunPython.noop),
    ]
