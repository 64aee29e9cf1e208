"""Trajectories are kept for as many days at most as PostgreSQL's small column takes."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    """Validators only: no table changes."""

    dependencies = (("matches", "0020_recorder_shards"),)

    operations = tuple(
        migrations.AlterField(
            model_name=model,
            name="trajectory_days",
            field=models.PositiveSmallIntegerField(
                blank=True,
                null=True,
                validators=(
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(32_767),
                ),
                **texts,
            ),
        )
        for model, texts in (
            ("schedule", {}),
            ("tournament", {"help_text": "Delete them after so many days; empty: never."}),
        )
    )
