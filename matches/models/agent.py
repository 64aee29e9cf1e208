"""Agents: rated competitors."""

from django.db import models

from matches.models.checkpoint import Checkpoint
from matches.models.choices import Placement, game_choices, policy_choices
from matches.models.validation import (
    check_checkpoint,
    check_name,
    check_policy,
    check_spelling,
    is_named_anew,
)
from matches.models.versions import LENGTH, short_version, version_of_agent


class Agent(models.Model):
    """A policy kind with its parameters (and a checkpoint, if it has one) in one game."""

    name = models.CharField(max_length=120, help_text="Unique within the game.")
    game = models.CharField(max_length=60, choices=game_choices)
    policy = models.CharField(max_length=60, choices=policy_choices)
    parameters = models.JSONField(
        default=dict, blank=True, help_text='Of the policy kind, such as {"simulations": 100}.'
    )
    checkpoint = models.ForeignKey(
        Checkpoint,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        to_field="sha256",
        related_name="agents",
        help_text="Weights of its network; empty without one.",
    )
    placement = models.CharField(
        max_length=10,
        choices=Placement.choices,
        default=Placement.LOCAL,
        editable=False,
        help_text="Where its network runs: the verdict on its checkpoint, once that is ready.",
    )
    is_retired = models.BooleanField(
        default=False, help_text="Stays on its leaderboards and is not entered any more."
    )
    quarantined_at = models.DateTimeField(
        null=True, editable=False, help_text="Since then no match of it is sent; empty: it plays."
    )
    quarantine_reason = models.CharField(
        max_length=500, blank=True, editable=False, default="", db_default=""
    )
    version = models.CharField(
        max_length=LENGTH,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Of its code: as declared, of a plug-in the SHA-256 of its file.",
    )
    newer = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="older",
        editable=False,
        help_text="The agent of its name since its code was changed.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    is_renewed = False
    """Whether it takes the place of an older version, with the name that this one had."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("game", "name"), name="agent_name_is_unique_in_game"),
        )
        indexes = (
            # Query: the agents in quarantine, which the relay asks for; few of very many.
            models.Index(
                fields=("id",),
                condition=models.Q(quarantined_at__isnull=False),
                name="agent_quarantined",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse an agent that cannot play the game or is named as another; note its version."""
        has_new_name = not self.is_renewed and is_named_anew(self)
        if has_new_name:
            check_name(self.name)
        policy = check_policy(self.game, self.policy, self.parameters)
        if has_new_name:
            check_spelling(self.name, self.policy, self.parameters)
        check_checkpoint(policy, self.policy, self.game, self.checkpoint)
        if self._state.adding:
            self.version = self.version_here

    @property
    def version_here(self) -> str:
        """The version that it would have if it were registered now."""
        return version_of_agent(
            self.policy, self.checkpoint.architecture if self.checkpoint else ""
        )

    @property
    def shown_version(self) -> str:
        """Its version, short enough to read."""
        return short_version(self.version)
