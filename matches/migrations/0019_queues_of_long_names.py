"""Room for the queue of a node with a long name; PostgreSQL refused its orders, and all others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column."""

    dependencies = (("matches", "0018_uncounted_new"),)

    operations = (migrations.AlterField("order", "queue", models.CharField(max_length=80)),)
