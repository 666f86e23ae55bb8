"""Models by role, as the command line names them."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.models.config import read_models


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
