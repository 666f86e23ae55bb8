"""Models by role, as the command line names them."""

import pytest

from kernelwright.engine.gateway.models import ModelRouter, read_models
from kernelwright.errors import UsageError
from kernelwright.models.table import make_model


def test_a_bare_model_serves_every_role_without_one_of_its_own():
    found = read_models(["openai:big", "judge=openai:small@http://localhost:8000/v1"])
    assert {role: config.name for role, config in found.items()} == {"default": "big", "judge": "small"}
    assert found["judge"].base_url == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["juge=openai:x"], "no role is called 'juge'"),
        (["openai:x", "openai:y"], "two models are named for the role 'default'"),
        (["gpt-5"], "is not PROVIDER:NAME"),
    ],
)
def test_what_cannot_work_is_said(texts, told):
    with pytest.raises(UsageError, match=told):
        read_models(texts)


def test_a_cap_in_money_needs_the_price_of_a_server_of_the_house(monkeypatch):
    monkeypatch.delenv("KERNELWRIGHT_PRICES", raising=False)
    relay = read_models(["openai:gpt-5", "judge=openai:small@http://litellm:4000/v1"])
    with pytest.raises(UsageError, match=r"the price of small is not known.*input = 0"):
        ModelRouter(relay, make_model).check_prices()
    ModelRouter(read_models(["openai:small@http://localhost:8000/v1"]), make_model).check_prices()
