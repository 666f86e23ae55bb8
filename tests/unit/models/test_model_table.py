"""Models by name, imported when asked for."""

import subprocess
import sys

import pytest

from kernelwright.errors import UsageError
from kernelwright.models.config import PROVIDERS, ModelConfig, read_model
from kernelwright.models.table import MODULES, make_model


def test_every_provider_has_a_module():
    assert tuple(MODULES) == PROVIDERS


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    code = (
        "import sys, kernelwright.models.table, kernelwright.models.answer\n"
        "heavy = {'openai', 'anthropic', 'transformers', 'torch', 'httpx', 'httpx2'} & set(sys.modules)\n"
        "print(*sorted(heavy))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.split() == []


def test_made_of_a_spelling(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = make_model(read_model("openai:qwen/coder@http://localhost:8000/v1"))
    assert model.name == "openai:qwen/coder"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://", "http://HOST"),
        ("http://host:port/v1", "http://HOST"),
        ("https://user:pass@host/v1", "environment variable"),
        ("https://host/v1?key=1", "environment variable"),
    ],
)
def test_addresses_that_cannot_be_used(address, told):
    with pytest.raises(UsageError, match=told):
        make_model(ModelConfig(name="m", base_url=address))


def test_another_scheme():
    with pytest.raises(UsageError, match="http://HOST"):
        make_model(ModelConfig(name="m", base_url="file:///etc/passwd"))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_missing_sdk_names_its_extra(monkeypatch, provider):
    monkeypatch.delitem(sys.modules, MODULES[provider], raising=False)
    monkeypatch.setitem(sys.modules, provider, None)
    with pytest.raises(UsageError, match=rf"needs the package {provider}: pip install 'kernelwright\[{provider}\]'"):
        make_model(ModelConfig(provider=provider, name="m"))


@pytest.mark.parametrize(
    "text", ["openai:x@localhost:9", "openai:x@localhost", "openai:q/x@10.0.0.1:80/v1", "openai:x@api.host.org/v1"]
)
def test_an_address_without_its_scheme_is_told_with_it(text):
    address = text.partition("@")[2]
    with pytest.raises(UsageError, match=f"http://{address}"):
        read_model(text)


def test_a_version_in_a_name_is_no_address():
    assert read_model("openai:claude@20250101").name == "claude@20250101"
