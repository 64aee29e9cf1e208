from typing import Any

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Coalesce

Z95 = 1.959964
SIGMA = 25 / 3
LOW, HIGH = 25 - Z95 * SIGMA, 25 + Z95 * SIGMA


def write_ends(apps: Any, schema_editor: Any) -> None:
    """Leave intervals and ranks as they are until the next fit; those of seasons for ever."""
    alias = schema_editor.connection.alias
    for name in ("Rating", "SeasonRow"):
        rows = apps.get_model("matches", name).objects.using(alias)
        low, high = F("mu") - Z95 * F("sd"), F("mu") + Z95 * F("sd")
        rows.update(low=low, high=high, sd=Coalesce("order_sd", "sd"))


def write_doubts(apps: Any, schema_editor: Any) -> None:
    """Undo it: by half of the width, as an interval lay about its rating before."""
    alias = schema_editor.connection.alias
    for name in ("Rating", "SeasonRow"):
        rows = apps.get_model("matches", name).objects.using(alias)
        rows.update(order_sd=F("sd"), sd=(F("high") - F("low")) / (2 * Z95))


class Migration(migrations.Migration):
    dependencies = [("matches", "0043_order_doubts")]

    operations = [
        migrations.AddField(
            model_name="rating",
            name="low",
            field=models.FloatField(
                db_default=LOW, default=LOW, help_text="Lower end of its 95 % interval."
            ),
        ),
        migrations.AddField(
            model_name="rating",
            name="high",
            field=models.FloatField(
                db_default=HIGH, default=HIGH, help_text="Upper end of its 95 % interval."
            ),
        ),
        migrations.AddField(
            model_name="seasonrow",
            name="low",
            field=models.FloatField(default=0.0, help_text="Lower end of its 95 % interval."),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="seasonrow",
            name="high",
            field=models.FloatField(default=0.0, help_text="Upper end of its 95 % interval."),
            preserve_default=False,
        ),
        migrations.RunPython(write_ends, write_doubts),
        migrations.AlterField(
            model_name="rating",
            name="sd",
            field=models.FloatField(
                default=SIGMA, help_text="Its doubt, as it bears on ranks: not how far apart all are."
            ),
        ),
        migrations.AlterField(
            model_name="ratingsnapshot",
            name="table",
            field=models.BinaryField(help_text="zlib of JSON rows: snapshot_tables.COLUMNS."),
        ),
        migrations.RemoveField(model_name="rating", name="order_sd"),
        migrations.RemoveField(model_name="seasonrow", name="order_sd"),
    ]
