"""What the tests share: one server for most of them, and no key from outside."""

from collections.abc import Iterator

import pytest

from server.app import build_app
from tests.serving import serving
from tests.stub_model import KEY, StubModel, run_stub


@pytest.fixture(autouse=True)
def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLMSERVE_MODE", "LLMSERVE_REAL_PROVIDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with serving(build_app()) as address:
        yield address


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModel]:
    """Run a model to ask, with the settings that lead to it."""
    with run_stub(StubModel()) as running:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running
