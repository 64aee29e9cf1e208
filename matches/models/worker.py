"""Nodes and game servers, who may be a node, and how far the recorder has come."""

from django.db import models

from arena.needs import SERVER


class Worker(models.Model):
    """A play node, gpu worker or game server as its last `alive` report described it."""

    node = models.CharField(max_length=200, unique=True)
    incarnation = models.CharField(max_length=200)
    slots = models.PositiveIntegerField()
    capabilities = models.JSONField(default=list)
    versions = models.JSONField(default=dict)
    labels = models.JSONField(
        default=dict,
        db_default={},
        help_text="What its operator says of the machine: class, price, zone.",
    )
    load = models.JSONField(
        default=dict, db_default={}, help_text="Of its machine: cpu per core, share of memory."
    )
    plugins = models.JSONField(
        null=True, help_text="SHA-256 of its plug-in files; empty: of an older version."
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    place = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The machine it is on."
    )
    # A rival is shown and replaces nothing: two nodes of one name would take each other's matches.
    rival_incarnation = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Another live process that has this node's name and key.",
    )
    rival_seen_at = models.DateTimeField(null=True, editable=False)
    n_forged = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="Reports in its name that did not carry its key."
    )
    forged_at = models.DateTimeField(null=True, editable=False)
    quarantined_at = models.DateTimeField(
        null=True, editable=False, help_text="Since then it gets no order and nothing of it counts."
    )
    quarantine_reason = models.CharField(
        max_length=500, blank=True, editable=False, default="", db_default=""
    )

    game = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="What it plays, of a game server; of any other node empty.",
    )
    address = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Where players dial a game server.",
    )
    lost_at = models.DateTimeField(
        null=True, editable=False, help_text="When a player last lost its line to this game server."
    )
    n_lost = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Times in a row that it was lost: each doubles the pause before it is tried.",
    )
    trusted_at = models.DateTimeField(
        null=True, editable=False, help_text="Faults before its release from quarantine are over."
    )

    class Meta:
        ordering = ("node",)

    def __str__(self) -> str:
        return self.node

    @property
    def is_server(self) -> bool:
        """Whether it serves a game, and neither plays matches nor answers for networks."""
        return SERVER in self.capabilities


class NodeKey(models.Model):
    """Who is admitted as a play node; its secrets are derived from name and generation."""

    name = models.CharField(max_length=60, unique=True)
    # In the secrets, so that one node gets new ones without a new secret key for all.
    generation = models.PositiveIntegerField(
        default=1, help_text="Raising it replaces the node's passwords and the key of its reports."
    )
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(
        null=True, editable=False, help_text="Since then neither server lets it in."
    )

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class RecorderMark(models.Model):
    """The newest mark that came through a queue of reports: all before it there are recorded."""

    shard = models.PositiveSmallIntegerField(
        default=0, db_default=0, unique=True, help_text="Of the tournaments; each has a queue."
    )
    marked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"shard {self.shard} is recorded up to {self.marked_at}"
