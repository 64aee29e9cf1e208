"""Checkpoints: upload one, see what its check found; nothing of it can be edited."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.forms.widgets import Script
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from arena.checkpoints import MAX_BYTES
from arena.errors import ParameterError
from arena.parameters import read_parameters
from matches.admin.agents import offer_tournament
from matches.admin.base import Admin, ModelFormWithAllErrors
from matches.admin.kept_uploads import KeptUpload, find_kept, forget_kept, keep_upload
from matches.admin.parameter_fields import ParametersField, list_architecture_parameters
from matches.artifacts.checkpoints import MAX_STEP, New, add_checkpoint
from matches.errors import BadInputError
from matches.models import Checkpoint
from matches.store.clock import db_now

UPLOADED = ("file", "name", "game", "architecture", "parameters", "step", "parent_name")
# The form's names of what the service refuses.
FIELDS = {"parent": "parent_name", "placement": "forced_placement", "sha256": "file"}


class ArchitectureInput(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # unfold has no types
    """A text for which the architectures that are known here are proposed."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Return the input with the list of proposals that stands below it."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        context["widget"]["attrs"]["list"] = f"{name}-proposals"
        return context

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        """Return the input and the proposals."""
        names = [(architecture,) for architecture in list_architecture_parameters()]
        options = format_html_join("", '<option value="{}"></option>', names)
        field = super().render(name, value, attrs, renderer)
        return format_html('{}<datalist id="{}-proposals">{}</datalist>', field, name, options)


class UploadForm(ModelFormWithAllErrors):
    """A file, and what it is; a sealed file says itself what it is."""

    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget(attrs={"data-max-bytes": MAX_BYTES}),
        help_text=f"safetensors of at most {MAX_BYTES // 2**20} MiB; never a pickle (.pt).",
    )
    name = forms.CharField(
        max_length=100,
        widget=UnfoldAdminTextInputWidget,
        help_text="Of the agent; with a step it becomes NAME@STEP.",
    )
    architecture = forms.CharField(
        max_length=200,
        required=False,
        widget=ArchitectureInput,
        help_text="Such as mlp; empty for a sealed file.",
    )
    parameters = ParametersField(
        owner="architecture",
        declare=list_architecture_parameters,
        takes_text=True,
        required=False,
        help_text="Of the architecture; left empty, each is as by default or as the file says.",
    )
    step = forms.IntegerField(
        min_value=0, max_value=MAX_STEP, required=False, widget=UnfoldAdminIntegerFieldWidget
    )
    parent_name = forms.CharField(
        label="Parent",
        max_length=120,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="SHA-256 of the checkpoint it was trained from, or an agent that has it.",
    )

    kept = forms.CharField(required=False, widget=forms.HiddenInput)
    """The token of a file that was sent with a form that was refused."""
    user_id: ClassVar[int] = 0

    class Media:
        """How far the upload is."""

        js = (Script("evalsite/upload.js", type="module"),)

    class Meta:
        # What the service takes and the model has
        model = Checkpoint
        fields = ("game", "forced_placement")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ask for nothing that a sealed file says, and for no file that was sent before."""
        super().__init__(*args, **kwargs)
        game: Any = self.fields["game"]
        game.required, game.initial = False, ""
        game.choices = [
            ("", "As the sealed file says"),
            *(choice for choice in game.choices if choice[0]),
        ]
        self.kept_file = find_kept(self.data.get("kept", ""), user_id=self.user_id)
        if self.kept_file:
            self.fields["file"].required = False

    def clean(self) -> dict[str, Any]:
        """Add the checkpoint when the form is whole, so that a refusal stands at its field."""
        cleaned = super().clean() or self.cleaned_data
        self._check_parameters(cleaned)
        upload = cleaned.get("file")
        uploaded = (
            KeptUpload(Path(upload.temporary_file_path()), upload.name)
            if upload
            else self.kept_file
        )
        if not self.errors and uploaded:
            self._add_checkpoint(uploaded, cleaned)
        if uploaded and self.errors and "file" not in self.errors:
            self._keep_file(uploaded)
        elif uploaded and self.kept_file and not self.errors:
            forget_kept(self.kept_file)
        return cleaned

    def _check_parameters(self, cleaned: Mapping[str, Any]) -> None:
        """Refuse what a known architecture does not take; of others its check finds out."""
        declared = list_architecture_parameters().get(cleaned.get("architecture", ""))
        parameters = cleaned.get("parameters")
        if declared is None or not parameters:
            return
        texts = {parameter.name for parameter in declared if isinstance(parameter.default, str)}
        # As architectures read them: a whole number stands for its text.
        texts_read = {name: str(v) if name in texts else v for name, v in parameters.items()}
        try:
            read_parameters(cleaned["architecture"], declared, texts_read)
        except ParameterError as error:
            self.add_error("parameters", str(error))

    def _add_checkpoint(self, uploaded: KeptUpload, cleaned: Mapping[str, Any]) -> None:
        new = New(
            cleaned["name"],
            game=cleaned["game"],
            architecture=cleaned["architecture"],
            parameters=cleaned["parameters"] or {},
            step=cleaned["step"],
            parent=cleaned["parent_name"],
            placement=cleaned["forced_placement"],
            source_name=uploaded.name,
        )
        try:
            # Here and not in save_model: the form can still say what the service refuses.
            self.agent = add_checkpoint(uploaded.path, new, now=db_now())
        except BadInputError as error:
            name = FIELDS.get(error.field, error.field)
            self.add_error(name if name in self.fields else None, str(error))

    def _keep_file(self, uploaded: KeptUpload) -> None:
        """Keep the file for the form as it is shown again."""
        field = self.fields["file"]
        if uploaded != self.kept_file:
            # The data of a request cannot be changed.
            data: Any = self.data
            self.data = data.copy()
            self.data["kept"] = keep_upload(uploaded.path, uploaded.name, user_id=self.user_id)  # type: ignore[index]
        field.required = False
        # Of the field as it stands on the page: that has been made before. Its template takes
        # markup, and the name is whatever the file was called.
        self["file"].help_text = format_html(
            "{} is kept for an hour: choose a file only to send another.", uploaded.name
        )

    def _post_clean(self) -> None:
        """Build no row: the service has written it."""


@admin.register(Checkpoint)
class CheckpointAdmin(Admin):
    """What was uploaded is what is played."""

    list_display = ("__str__", "game", "architecture", "state", "reason", "placement", "row_ms")
    list_filter = ("state", "game")
    search_fields = ("sha256__startswith", "run")
    ordering = ("-pk",)

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelFormWithAllErrors]:
        """Return the form that uploads, for a new one."""
        form = ModelFormWithAllErrors if change else UploadForm
        form_class: type[ModelFormWithAllErrors] = super().get_form(
            request, obj, change, **{**kwargs, "form": form}
        )
        if not change:
            # Made anew for every request, so that what is set here is seen by this one only.
            form_class.user_id = request.user.pk  # type: ignore[attr-defined]
        return form_class

    def get_fields(self, _: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return what is entered, and of a stored one everything."""
        if obj is None:
            return (*UPLOADED, "forced_placement", "kept")
        stored = [field.name for field in Checkpoint._meta.fields if field.name != "id"]
        return (*stored, "agent_names")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """Return all fields of a stored one."""
        return self.get_fields(request, obj) if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's name
        return False

    def save_model(self, _: HttpRequest, obj: Checkpoint, form: UploadForm, change: bool) -> None:  # noqa: ARG002 - Django's name
        """Take the row that the service has written."""
        obj.pk = Checkpoint.objects.get(agents=form.agent).pk
        obj.refresh_from_db()

    def response_add(self, request: HttpRequest, obj: Checkpoint, *args: Any, **kwargs: Any) -> Any:
        """Lead on to a tournament with its agent."""
        for agent in obj.agents.order_by("-pk")[:1]:
            offer_tournament(request, agent)
        return super().response_add(request, obj, *args, **kwargs)

    @admin.display(description="agents")
    def agent_names(self, obj: Checkpoint) -> str:
        return ", ".join(obj.agents.values_list("name", flat=True))
