"""Prices: which row is a model's, and what a call costs at most."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.models import prices
from kernelwright.models.answer import prompt_tokens, tokens_in
from kernelwright.models.config import ModelConfig, is_local
from kernelwright.models.prices import Price, cost, find_price, price_of
from kernelwright.records.chat import ChatMessage, ChatRequest, Usage


@pytest.fixture(autouse=True)
def no_own_prices(monkeypatch):
    for name in ("KERNELWRIGHT_PRICES", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_every_row_is_complete():
    table = prices._shipped()
    assert len(table) >= 36
    for name, price in table.items():
        assert name == name.lower()
        assert price.checked is not None, name
        assert price.source, name
        assert 0 < price.input <= price.output, name
        assert price.cached is None or price.cached < price.input, name
        assert price.written is None or price.input < price.written < price.output, name
        if price.long_after is not None:
            assert price.long_input > price.input and price.long_output > price.output, name


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("gpt-5-2025-08-07", "gpt-5"),
        ("GPT-5", "gpt-5"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-5-5-latest", "claude-opus-5-5"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ],
)
def test_names_with_vendors_and_dates(model, row):
    assert find_price(model) is prices._shipped()[row]


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-5.9", "claude", "qwen3-coder", "", "gpt-5x"])
def test_other_models_have_no_price(model):
    assert find_price(model) is None


def test_what_a_call_costs():
    price = Price(input=2.0, cached=0.5, written=2.5, output=10.0)
    usage = Usage(prompt=1_000_000, cached=400_000, completion=100_000)
    assert cost(price, usage) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1)
    assert cost(price, usage, written=100_000) == pytest.approx(0.5 * 2 + 0.4 * 0.5 + 0.1 * 2.5 + 1)
    long = Price(input=2.0, output=10.0, long_after=1000, long_input=4.0, long_output=15.0)
    assert cost(long, Usage(prompt=1001, completion=10)) == pytest.approx((1001 * 4 + 10 * 15) / 1e6)


def test_models_of_this_machine_are_free():
    assert price_of(ModelConfig(provider="huggingface", name="x")) == prices.FREE
    assert price_of(ModelConfig(provider="replay", name="x")) == prices.FREE
    for url in ("http://localhost:8000/v1", "http://127.0.0.1/v1", "http://0.0.0.0:8000", "http://[::1]/"):
        assert is_local(url)
        assert price_of(ModelConfig(name="qwen", base_url=url)) == prices.FREE
        assert price_of(ModelConfig(name="gpt-5", base_url=url)) == find_price("gpt-5")  # a relay is no gift
    assert price_of(ModelConfig(name="qwen", base_url="https://relay.example/v1")) is None
    assert price_of(ModelConfig(name="qwen")) is None


@pytest.mark.parametrize("url", ["http://litellm:4000", "http://10.1.2.3/v1", "http://192.168.0.7", "http://gpu.local"])
def test_a_server_of_the_house_needs_no_key_and_may_be_a_relay(url):
    assert is_local(url)
    assert price_of(ModelConfig(name="qwen", base_url=url)) is None


def test_the_address_of_the_environment_counts(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert price_of(ModelConfig(name="qwen")) == prices.FREE
    assert price_of(ModelConfig(provider="anthropic", name="qwen")) is None


def test_a_file_of_ones_own_comes_first(tmp_path, monkeypatch):
    path = tmp_path / "prices.toml"
    path.write_text('["My-Model"]\ninput = 1\noutput = 2\n["gpt-5"]\ninput = 7\noutput = 8\n')
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(path))
    assert find_price("vendor/my-model") == Price(input=1, output=2)
    assert find_price("gpt-5-2025-08-07").input == 7
    assert find_price("gpt-5-mini").input == 0.25


@pytest.mark.parametrize(
    "text", ["not toml", '["m"]\ninput = "much"\noutput = 1', "m = 3", '["m"]\ninput = 1\noutput = -1']
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, text):
    path = tmp_path / f"{abs(hash(text))}.toml"
    path.write_text(text)
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(path))
    with pytest.raises(UsageError, match="KERNELWRIGHT_PRICES"):
        find_price("gpt-5")
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="cannot be read"):
        find_price("gpt-5")


def test_estimates():
    assert tokens_in("") == 0
    assert tokens_in("x" * 30) == 10
    assert tokens_in("é" * 3) == 2
    request = ChatRequest(messages=(ChatMessage(role="user", text="x" * 300),), max_tokens=4000)
    assert prompt_tokens(request) == 108
