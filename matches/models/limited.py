"""What every plan of matches has in common: how they are paired, weighed and limited."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from arena.messages import Limits
from matches.models.validation import validate_finite

MAX_WEIGHT = 1_000
_LIMITS = (validate_finite, MinValueValidator(0.01), MaxValueValidator(86_400))


class Limited(models.Model):
    """The fields that tournaments, and the schedules that start them, share."""

    pairing_parameters = models.JSONField(
        default=dict, blank=True, help_text='Of the pairing, such as {"best_of": 5}.'
    )
    weight = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_WEIGHT)),
        help_text="Its share of the nodes against that of others that run at the same time.",
    )
    move_s = models.FloatField(default=Limits().move_s, validators=_LIMITS)
    match_s = models.FloatField(default=Limits().match_s, validators=_LIMITS)

    class Meta:
        """No table of its own."""

        abstract = True
