from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('matches', '0029_lost_time_and_paused'),
    ]

    operations = [
        migrations.AddField(
            model_name='outcome',
            name='returns',
            field=models.CharField(blank=True, db_default='', default='', help_text='By seat, unless forfeited.', max_length=2000),
        ),
    ]
