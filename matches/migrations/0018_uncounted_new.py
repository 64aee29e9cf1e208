"""Find what is not counted yet without a look at all that lies behind an open match."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """One partial index."""

    dependencies = (("matches", "0017_code_versions"),)

    operations = (
        migrations.AddIndex(
            model_name="uncounted",
            index=models.Index(
                condition=models.Q(("is_counted", False)),
                fields=["leaderboard", "sequence"],
                name="uncounted_new",
            ),
        ),
    )
