"""What the admin pages share: read-only pages, errors with a place in the form, audited changes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import NON_FIELD_ERRORS, SuspiciousOperation, ValidationError
from django.db import DataError, NotSupportedError
from django.db.models import Model
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.admin import ModelAdmin, TabularInline
from unfold.paginator import InfinitePaginator

from matches.admin.once import DONE_BEFORE, new_once, only_once
from matches.admin.plain_fields import label_fields, replace_fields
from matches.errors import BadInputError, MatchError
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.clock import db_now

# Django's forms are generic for the type checker only.
if TYPE_CHECKING:
    AnyModelForm = ModelForm[Model]
else:
    AnyModelForm = ModelForm

PER_PAGE = 50
# SQLite takes patterns of 50,000 bytes.
_LONGEST_VALUE = 10_000
_REFUSED_LOOKUPS = ("__range", "__regex", "__iregex", "__contained_by")
_UNANSWERABLE = (
    *(DataError, NotSupportedError, NotImplementedError),
    *(OverflowError, TypeError, ValueError),
)
"""What lookups raise for a value that is none of theirs."""


class ModelFormWithAllErrors(AnyModelForm):
    """A form whose model or service may refuse a field that the form does not show."""

    refusal: ClassVar[BadInputError | None] = None
    """What the service refused of the same input."""

    def clean(self) -> dict[str, Any]:
        """Say what the service refused."""
        cleaned = super().clean() or self.cleaned_data
        if self.refusal is not None:
            self.add_error(self.refusal.field, str(self.refusal))
        return cleaned

    def add_error(self, field: str | None, error: Any) -> None:
        """Put errors of fields that are not shown above the form."""
        by_field: Mapping[str | None, Any] = getattr(error, "error_dict", {}) or {field: error}
        for name, errors in by_field.items():
            place = name if name in self.fields else None
            # Model, form and service may refuse the same thing in the same words: once is enough.
            before: Sequence[Any] = self.errors.get(place or NON_FIELD_ERRORS, [])
            fresh = [text for text in ValidationError(errors).messages if text not in before]
            if fresh:
                super().add_error(place, errors)


class CheckedChangeList(ChangeList):
    """A list that refuses an address with values that no database can look for.

    They are a year 0, a number of 20 digits, text for bytes: each lookup has its own, and only the
    database knows them all. Filters and search run before, and what they raise is a fault of ours.
    """

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows. Raises SuspiciousOperation where the database refuses a value."""
        try:
            super().get_results(request)
            # Read now: the page would read it later, out of reach.
            len(self.result_list)
        except _UNANSWERABLE as error:
            if not request.GET:
                raise
            raise SuspiciousOperation(f"the address cannot be answered: {error}") from error


class CheckedAddressAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """An admin whose addresses cannot ask a list for what the database fails to answer."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """List the rows that the address asks for.

        Raises Http404 for a NUL in it, SuspiciousOperation for a value too long to look for.
        """
        values = [text for texts in request.GET.lists() for text in texts[1]]
        # PostgreSQL takes none, and Django's filters look for what is given as it stands.
        if any("\0" in text for text in values):
            raise Http404("no row has a NUL character: take it out of the address")
        if any(len(text) > _LONGEST_VALUE for text in values):
            raise SuspiciousOperation("the address has a value too long to look for")
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Say whether an address may ask for this.

        A range takes two values, and gets one text; what is given as a regular expression may be
        none; what contains a value is asked of ranges alone.
        """
        is_allowed: bool = super().lookup_allowed(lookup, value, request)
        return is_allowed and not lookup.endswith(_REFUSED_LOOKUPS)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002 - Django's names
        """Return the kind of list that refuses values no database can look for."""
        return CheckedChangeList


class Admin(CheckedAddressAdmin):
    """An admin whose services may still refuse what the form accepted.

    Lists never count their rows: a page of a million matches costs as much as one of ten.
    """

    form = ModelFormWithAllErrors
    paginator = InfinitePaginator
    show_full_result_count = False
    list_per_page = PER_PAGE
    list_filter_submit = True
    change_form_before_template = "admin/acts/once.html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Add or change a row: a form that is sent twice adds one, a late refusal is a message."""
        context = {**(extra_context or {}), "once": "" if object_id else new_once()}
        plain = partial(super().changeform_view, request, object_id, form_url, context)
        view = partial(_answer_with_refusal, request, plain)
        try:
            if object_id or request.method != "POST":
                response: HttpResponse = view()
            else:
                response = only_once(request, view)
        except MatchError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        if response is DONE_BEFORE:
            self.message_user(request, "That was done already; nothing was done twice.")
            return HttpResponseRedirect(self.list_address())
        return response

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[Any]:
        """Return the form; it says what the service refused when it was sent a moment ago."""
        labels = {**label_fields(self.model), **kwargs.pop("labels", {})}
        form: type[Any] = super().get_form(request, obj, change, labels=labels, **kwargs)
        # Made anew for every request, so that what is set here is seen by this one only.
        form.refusal = getattr(request, "refusal", None)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields; JSON and numbers that nobody can change are written for reading."""
        return self.write_plainly(request, obj, super().get_fieldsets(request, obj))

    def write_plainly(self, request: HttpRequest, obj: Model | None, fieldsets: Any) -> Any:
        """Return the fields, JSON and numbers as text where all of the page is only shown."""
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        return [
            (title, {**options, "fields": replace_fields(self.model, options["fields"])})
            for title, options in fieldsets
        ]

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Leave an audit row, in the transaction that adds the row."""
        self.leave_audit_row(request, obj, "add", {})
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Leave an audit row with the names of what was changed."""
        fields = [name for part in message for name in part.get("changed", {}).get("fields", ())]
        if fields:
            self.leave_audit_row(request, obj, "change", {"fields": fields})
        return super().log_change(request, obj, message)

    def leave_audit_row(
        self, request: HttpRequest, obj: Model, action: str, touched: dict[str, Any]
    ) -> None:
        """Leave an audit row; where a service has left one already, this is nothing."""
        auditing.add_audit_row(
            f"{obj._meta.model_name}.{action}",
            actor=Actor.of(request.user),
            targets=[obj],
            reason="",
            touched=touched,
            now=db_now(),
        )

    def list_address(self) -> str:
        """Return the address of the list of all rows."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def has_delete_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Keep everything: results refer to it."""
        return False


class ReadOnlyInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    """Rows under another row, to look at: nobody adds, changes or deletes one."""

    extra = 0
    can_delete = False

    def has_add_permission(self, *_: object) -> bool:
        """Say no."""
        return False

    def has_change_permission(self, *_: object) -> bool:
        """Say no."""
        return False


class ReadOnlyAdmin(Admin):
    """Rows that only services write."""

    def has_add_permission(self, _: HttpRequest) -> bool:
        return False

    def has_change_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        return False


def _answer_with_refusal(request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer; what the service refuses becomes an error of the form as it was sent."""
    try:
        return view()
    # Django's view is one transaction: what was refused has left nothing, so it may run again.
    except BadInputError as error:
        request.refusal = error  # type: ignore[attr-defined]  # read by get_form
        return view()
