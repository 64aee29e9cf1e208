"""The document of the schema: what the framework would answer, and made once."""

import json
from typing import Any

import pytest
from django.test import Client, RequestFactory
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

from matches.api import document

ADDRESS = "/api/schema/"
JSON = "application/vnd.oai.openapi+json"


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    document._kept.clear()
    document._schema.clear()


@pytest.mark.parametrize(
    "headers", [{}, {"HTTP_ACCEPT": JSON}, {"HTTP_ACCEPT": "application/json"}]
)
def test_the_document_is_what_the_framework_answers(
    client: Client, headers: dict[str, str]
) -> None:
    view: Any = SpectacularAPIView.as_view()
    plain = view(RequestFactory().get(ADDRESS, **headers)).render()  # type: ignore[arg-type]
    for _ in range(2):
        answer = client.get(ADDRESS, **headers)  # type: ignore[arg-type]
        assert answer.content == plain.content
        assert "Accept" in answer.headers["Vary"]
        for name in ("Content-Type", "Content-Disposition"):
            assert answer.headers[name] == plain.headers[name]


def test_it_is_made_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    get_schema: Any = SchemaGenerator.get_schema

    def counted(*args: Any, **options: Any) -> Any:
        made.append(1)
        return get_schema(*args, **options)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    documents = [client.get(f"{ADDRESS}?format=json").json() for _ in range(3)]
    assert client.get(ADDRESS).status_code == 200
    assert len(made) == 1, "for all forms"
    assert documents[0] == documents[2]
    assert json.dumps(documents[0])
    assert client.get(f"{ADDRESS}?version=2").status_code == 200
    assert len(made) == 2
