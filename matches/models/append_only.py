"""Rows that stay as they were written."""

from typing import Any, ClassVar, NoReturn, TypeVar

from django.db import models

from matches.errors import LastingRowError

Row = TypeVar("Row", bound=models.Model)


class LastingQuerySet(models.QuerySet[Row, Row]):
    """Rows that may be read and added, nothing else."""

    def update(self, **_: Any) -> NoReturn:
        raise LastingRowError(f"{self.model._meta.verbose_name_plural} cannot be changed")

    def bulk_update(self, *_: Any, **__: Any) -> NoReturn:
        raise LastingRowError(f"{self.model._meta.verbose_name_plural} cannot be changed")

    def delete(self) -> NoReturn:
        raise LastingRowError(f"{self.model._meta.verbose_name_plural} cannot be deleted")


class LastingManager(models.Manager[Row]):
    # Not by from_queryset: the type checker loses a class made so when it reads its cache.
    def get_queryset(self) -> LastingQuerySet[Row]:
        return LastingQuerySet(self.model, using=self._db)


class LastingModel(models.Model):
    """A row that is written once. A database user with other rights is not stopped by this."""

    what: ClassVar[str] = "a row"

    objects = LastingManager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Add the row. Raises LastingRowError when it is there already."""
        if not self._state.adding:
            raise LastingRowError(f"{self.what} cannot be changed, got {self.pk}")
        super().save(*args, **options)

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        raise LastingRowError(f"{self.what} cannot be deleted, got {self.pk}")
