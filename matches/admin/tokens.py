"""Tokens of the API: made with scopes and shown once, listed, revoked."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
)

from matches.access import tokens
from matches.admin.acts import tokens as acts
from matches.admin.base import ModelFormWithAllErrors
from matches.admin.offering import OffersActs
from matches.admin.once import DONE_HEADER
from matches.models import Scope, TokenAccess

DAYS = 365


class TokenForm(ModelFormWithAllErrors):
    """Whose token it is, what for, and how long."""

    user = forms.ModelChoiceField(
        queryset=User.objects.filter(is_active=True).order_by("username"),
        widget=UnfoldAdminSelectWidget,
        help_text="The rights of the user limit the token further.",
    )
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget, initial=[Scope.READ]
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=tokens.MAX_DAYS,
        required=False,
        initial=DAYS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="It ends after so many days; empty: never.",
    )

    class Meta:
        # The service writes the row
        model = TokenAccess
        fields = ("name", "scopes")


@admin.register(TokenAccess)
class TokenAdmin(OffersActs):
    """Only digests are stored: a secret is shown when it is made, and never again."""

    list_display = ("name", "user", "scope_names", "created", "expiry", "made_with")
    list_select_related = ("token__user", "parent")
    search_fields = ("name", "token__user__username")
    ordering = ("-pk",)
    acts = acts.ACTS

    def get_queryset(self, request: HttpRequest) -> QuerySet[TokenAccess]:
        """Return the tokens that the user may see: its own, an administrator all."""
        user: Any = request.user
        all_tokens: QuerySet[TokenAccess] = super().get_queryset(request)
        return all_tokens.filter(pk__in=tokens.list_tokens(user).values("pk"))

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelFormWithAllErrors]:
        """Return the form; users who are no administrators make tokens for themselves only."""
        form = ModelFormWithAllErrors if change else TokenForm
        form_class: type[ModelFormWithAllErrors] = super().get_form(
            request, obj, change, **{**kwargs, "form": form}
        )
        user: Any = request.user
        if not change and not user.is_superuser:
            field: Any = form_class.base_fields["user"]
            field.queryset = User.objects.filter(pk=user.pk)
        return form_class

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Return what is entered, and of a token all that is known."""
        if obj is None:
            return ("user", "name", "scopes", "days")
        return ("name", "user", "scope_names", "created", "expiry", "made_with", "children")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> tuple[str, ...]:
        """Return all fields of a token."""
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, _: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        """Refuse: a token stays what it is until it is revoked."""
        return False

    def save_model(self, _: HttpRequest, obj: TokenAccess, form: TokenForm, change: bool) -> None:  # noqa: ARG002 - Django's name
        """Make it; the row that the admin goes on with is the service's."""
        fields = form.cleaned_data
        access, obj.secret = tokens.issue_token(  # type: ignore[attr-defined]  # shown by response_add
            fields["user"],
            name=fields["name"],
            scopes=[Scope(name) for name in fields["scopes"]],
            days=fields["days"],
        )
        obj.pk, obj.token = access.pk, access.token

    def response_add(
        self,
        request: HttpRequest,
        obj: TokenAccess,
        post_url_continue: str | None = None,  # noqa: ARG002 - Django's name
    ) -> HttpResponse:
        """Show the secret, this once; no proxy and no browser is to keep the page."""
        context = {
            **self.admin_site.each_context(request),
            "title": f"Token {obj.name}",
            "opts": self.opts,
            "secret": obj.secret,  # type: ignore[attr-defined]
            "access": obj,
        }
        headers = {"Cache-Control": "no-store", DONE_HEADER: "1"}
        return TemplateResponse(request, "admin/acts/secret.html", context, headers=headers)

    @admin.display(description="user", ordering="token__user__username")
    def user(self, obj: TokenAccess) -> str:
        return f"{obj.token.user}"

    @admin.display(description="made with", ordering="parent_id", empty_value="a login")
    def made_with(self, obj: TokenAccess) -> str | None:
        """Return the token that it was made with; it is revoked with that one."""
        return None if obj.parent is None else f"{obj.parent.name} ({obj.parent.pk})"

    @admin.display(description="revoked with it", empty_value="no other token")
    def children(self, obj: TokenAccess) -> str | None:
        """Return the tokens that were made with it."""
        return ", ".join(f"{child.name} ({child.pk})" for child in obj.children.all()) or None

    @admin.display(description="scopes")
    def scope_names(self, obj: TokenAccess) -> str:
        """Return what it may be used for."""
        return ", ".join(obj.scopes)

    @admin.display(description="created", ordering="token__created")
    def created(self, obj: TokenAccess) -> Any:
        """Return when it was made."""
        return obj.token.created

    @admin.display(description="ends", ordering="token__expiry", empty_value="never")
    def expiry(self, obj: TokenAccess) -> Any:
        return obj.token.expiry
