"""Who may call the API: what a token may be used for, and the answers kept for repeated calls."""

from django.conf import settings
from django.db import models


class Scope(models.TextChoices):
    """What a token may be used for; the rights of its user limit it further."""

    READ = "read", "read"
    SUBMIT = (
        "submit",
        "upload experience, register agents, upload checkpoints, schedule tournaments",
    )
    OPERATE = "operate", "operate tournaments, agents, matches and workers, see the audit"
    WORKER = "worker", "fetch what a node needs to play"


class TokenAccess(models.Model):
    """What a token of knox may be used for. A token without such a row opens nothing."""

    token = models.OneToOneField(
        "knox.AuthToken", on_delete=models.CASCADE, related_name="access", editable=False
    )
    name = models.CharField(max_length=100, help_text="What it is for, such as a machine.")
    scopes = models.JSONField(default=list, help_text="Of read, submit, operate, worker.")
    # CASCADE: however the parent goes, its children lose the row without which they open nothing.
    parent = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        related_name="children",
        null=True,
        blank=True,
        editable=False,
        help_text="The token that it was made with, and with which it is revoked.",
    )

    class Meta:
        ordering = ("-id",)
        verbose_name = "API token"
        verbose_name_plural = "API tokens"

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.scopes)})"


class IdempotencyKey(models.Model):
    """A POST that a client may send again under the same key, and its answer once it is known."""

    # Without an index of its own: that of the constraint begins with the user.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of method, path and body.")
    status = models.PositiveSmallIntegerField(null=True, help_text="Empty: not answered yet.")
    body = models.TextField(blank=True, help_text="The answer, as JSON.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "key"), name="idempotency_key_once"),
        )
        indexes = (
            # Query: keys that are old enough to be forgotten, the first ones first.
            models.Index(fields=("created_at",), name="idempotency_key_age"),
        )

    def __str__(self) -> str:
        return f"{self.key}: {self.status or 'not answered'}"
