"""Agents: rated competitors."""

from django.db import models

from matches.models.choices import game_choices, policy_choices
from matches.models.validation import check_policy


class Agent(models.Model):
    """A policy kind with its parameters (and a checkpoint, if it has one) in one game."""

    class Placement(models.TextChoices):
        """Where its network runs; decided here and carried in the order."""

        LOCAL = "local", "in the player"
        GPU = "gpu", "on the gpu queue"

    name = models.CharField(max_length=120, help_text="Unique within the game.")
    game = models.CharField(max_length=60, choices=game_choices)
    policy = models.CharField(max_length=60, choices=policy_choices)
    parameters = models.JSONField(
        default=dict, blank=True, help_text='Of the policy kind, such as {"simulations": 100}.'
    )
    checkpoint = models.CharField(
        max_length=64, blank=True, help_text="SHA-256 of its weights; empty without a network."
    )
    placement = models.CharField(
        max_length=10, choices=Placement.choices, default=Placement.LOCAL, editable=False
    )
    is_retired = models.BooleanField(
        default=False, help_text="Stays on its leaderboards and is not entered any more."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Names are unique within a game."""

        constraints = (
            models.UniqueConstraint(fields=("game", "name"), name="agent_name_is_unique_in_game"),
        )

    def __str__(self) -> str:
        """Return the name that users gave it."""
        return self.name

    def clean(self) -> None:
        """Refuse a policy or parameters that cannot play the game."""
        check_policy(self.game, self.policy, self.parameters)
