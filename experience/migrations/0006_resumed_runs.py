from typing import Any

from django.db import migrations, models
from django.db.models import Q


def mark_streamed(apps: Any, schema_editor: Any) -> None:
    """Mark the runs that are known to learn from uploads.

    Of an ended one of bc without a dataset it is not known, as that may have been deleted since.
    """
    runs = apps.get_model("experience", "TrainingRun").objects.using(schema_editor.connection.alias)
    runs.filter(Q(has_group=True) | Q(algorithm="appo", dataset=None)).update(is_streamed=True)


class Migration(migrations.Migration):
    dependencies = [("experience", "0005_waiting_datasets")]

    operations = [
        migrations.AddField(
            model_name="trainingrun",
            name="is_streamed",
            field=models.BooleanField(
                default=False, help_text="It learns from uploads, not from a dataset or matches."
            ),
        ),
        migrations.RunPython(mark_streamed, migrations.RunPython.noop),
    ]
