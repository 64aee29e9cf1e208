"""Room for what games need of a node, by names of one's own."""

from typing import Any

from django.db import migrations, models


class WidenText(migrations.AlterField):
    """Make room in a text column. SQLite has no limits to change: it would copy every match."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        """Change the column where its length is kept to."""
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        """Change it back."""
        self.database_forwards(app_label, schema_editor, *states)


class Migration(migrations.Migration):
    """What stands there is kept: cpu, torch, cpu+gpu and torch+gpu mean what they meant."""

    dependencies = (("matches", "0034_campaigns_by_scores"),)

    operations = (
        WidenText(
            "match",
            "needs",
            models.CharField(
                default="cpu",
                db_default="cpu",
                max_length=64,
                help_text="What its node must have, and the services it asks: of its game, and of "
                "where its agents' networks run; written at planning.",
            ),
        ),
    )
