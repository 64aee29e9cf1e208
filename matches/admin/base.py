"""What the admin pages share: read-only pages, errors that always find a place in the form."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from matches.errors import BadInputError

# Django's forms are generic for the type checker only.
if TYPE_CHECKING:
    AnyModelForm = ModelForm[Model]
else:
    AnyModelForm = ModelForm

PER_PAGE = 50


class ModelFormWithAllErrors(AnyModelForm):
    """A form whose model may refuse a field that the form does not show."""

    def add_error(self, field: str | None, error: Any) -> None:
        """Put errors of fields that are not shown above the form."""
        by_field: Mapping[str, Any] = getattr(error, "error_dict", {})
        for name, errors in by_field.items():
            super().add_error(name if name in self.fields else None, errors)
        if not by_field:
            super().add_error(field, error)


class Admin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """An admin whose services may still refuse what the form accepted.

    Lists never count their rows: a page of a million matches costs as much as one of ten.
    """

    form = ModelFormWithAllErrors
    paginator = InfinitePaginator
    show_full_result_count = False
    list_per_page = PER_PAGE
    list_filter_submit = True

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show a refusal that came between the form's check and the service as a message."""
        try:
            response: HttpResponse = super().changeform_view(request, *args, **kwargs)
        except BadInputError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def has_delete_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Keep everything: results refer to it."""
        return False


class ReadOnlyAdmin(Admin):
    """Rows that only services write."""

    def has_add_permission(self, _: HttpRequest) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Refuse."""
        return False
