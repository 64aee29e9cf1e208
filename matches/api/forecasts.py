"""What campaigns will take, and what the blocks of a sequential test say, as they are shown."""

from typing import Any

from rest_framework import serializers


class ForecastCostSerializer(serializers.Serializer[Any]):
    """What the matches to the verdict cost; null while nothing was measured."""

    core_s = serializers.FloatField(allow_null=True, help_text="Seconds of cores of play nodes.")
    gpu_s = serializers.FloatField(
        help_text="Seconds of gpu workers, reckoned by the steps of the newest matches and the "
        "time of one row of their networks alone on a core; batches on a GPU may take less."
    )
    wall_s = serializers.FloatField(allow_null=True, help_text="Seconds on the clock.")
    money = serializers.FloatField(allow_null=True, help_text="By the prices of the settings.")


class ForecastMoreSerializer(serializers.Serializer[Any]):
    """What some more matches would change: a probability or, of a sequential test, its ratio."""

    n_matches = serializers.IntegerField()
    now = serializers.FloatField(
        allow_null=True, help_text="Probability of the likeliest answer now; null for a test."
    )
    then = serializers.FloatField(
        allow_null=True, help_text="And after these matches, as is to be expected."
    )
    verdict = serializers.FloatField(help_text="The chance that they bring the verdict.")
    llr_now = serializers.FloatField(
        default=None, allow_null=True, help_text="Log-likelihood ratio of a sequential test now."
    )
    llr_then = serializers.FloatField(
        default=None, allow_null=True, help_text="And after these matches, as is to be expected."
    )


class ForecastSerializer(serializers.Serializer[Any]):
    """How many more matches the verdict takes, played forward in thought; at most 10^6."""

    matches = serializers.FloatField(help_text="The median.")
    low = serializers.FloatField(help_text="10 % of the cases take fewer.")
    high = serializers.FloatField(help_text="10 % of the cases take more.")
    decided = serializers.FloatField(help_text="The share of the cases that end before 10^6.")
    accepted = serializers.FloatField(
        default=None,
        allow_null=True,
        help_text="The share of the cases in which a sequential test ends accepted; else null.",
    )
    round_robin = serializers.FloatField(
        allow_null=True,
        help_text="The median if every pair played as often; null for a sequential test.",
    )
    cost = ForecastCostSerializer()
    more = ForecastMoreSerializer()


class AheadSerializer(serializers.Serializer[Any]):
    """What a campaign would start from and take."""

    n_agents = serializers.IntegerField()
    margin = serializers.FloatField(help_text="In units of rating.")
    n_known = serializers.IntegerField(help_text="Matches that are known, so not played again.")
    n_known_elsewhere = serializers.IntegerField(help_text="Of those: on other leaderboards.")
    warning = serializers.CharField(
        allow_null=True, help_text="What is said of a pairing that suits the field badly."
    )
    budget_warning = serializers.CharField(
        allow_null=True, help_text="Said where the forecast is over the budget in mind; else null."
    )
    forecast = ForecastSerializer()


class StrengthSerializer(serializers.Serializer[Any]):
    """A difference in points of Elo, with its interval of 95 %."""

    elo = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class PairsSerializer(serializers.Serializer[Any]):
    """What the paired blocks of a sequential test say, for the first of the two agents."""

    blocks = serializers.ListField(
        child=serializers.IntegerField(), help_text="With 0, 1/2, 1, 3/2 and 2 points of two games."
    )
    n_blocks = serializers.IntegerField()
    score = serializers.FloatField(help_text="The mean, 0 to 1.")
    split = serializers.FloatField(help_text="Draw ratio: the share of blocks of 1 point each.")
    elo = StrengthSerializer(help_text="Logistic.")
    normalised = StrengthSerializer(
        allow_null=True, help_text="Normalised Elo; null while all blocks are alike."
    )
    los = serializers.FloatField(help_text="Likelihood of superiority: P(the first is better).")
