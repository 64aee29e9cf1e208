from typing import Any

from django.db import migrations, models


def read_resets(apps: Any, schema_editor: Any) -> None:
    """Take the last reset of each leaderboard from the audit, which is never changed."""
    alias = schema_editor.connection.alias
    boards = apps.get_model("matches", "Leaderboard").objects.using(alias)
    rows = apps.get_model("matches", "AuditRow").objects.using(alias)
    resets = rows.filter(action="leaderboard.begin", target_kind="leaderboard").order_by("id")
    for board, at, touched in resets.values_list("target_id", "at", "touched"):
        if touched.get("mode") == "reset":
            boards.filter(pk=board).update(ratings_reset_at=at)


class Migration(migrations.Migration):
    dependencies = [("matches", "0045_upsets_of_campaigns")]

    operations = [
        migrations.AddField(
            model_name="leaderboard",
            name="ratings_reset_at",
            field=models.DateTimeField(
                editable=False,
                help_text="When a season last gave everybody the prior again.",
                null=True,
            ),
        ),
        migrations.RunPython(read_resets, migrations.RunPython.noop),
    ]
