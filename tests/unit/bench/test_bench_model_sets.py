"""Which models a comparison has, as its command line spells them."""

import pytest

from kernelwright.bench.request import read_model_sets
from kernelwright.errors import UsageError


def spoken(texts):
    """Names by role, of the common models and of each crew."""
    found = read_model_sets(texts)
    compared = {label: {role: one.name for role, one in models.items()} for label, models in found.compared.items()}
    return {role: one.name for role, one in found.common.items()}, compared


@pytest.mark.parametrize(
    ("texts", "common", "compared"),
    [
        (["openai:a"], {"default": "a"}, {}),
        (["openai:a", "judge=openai:j"], {"default": "a", "judge": "j"}, {}),
        (["openai:a", "anthropic:b"], {}, {"a": {"default": "a"}, "b": {"default": "b"}}),
        (["openai:a", "openai:b", "judge=openai:j"], {"judge": "j"}, {"a": {"default": "a"}, "b": {"default": "b"}}),
        (
            ["openai:a", "openai:b", "a/judge=openai:j"],
            {},
            {"a": {"default": "a", "judge": "j"}, "b": {"default": "b"}},
        ),
        (
            ["openai:a", "x/judge=openai:j", "y/judge=openai:k"],
            {"default": "a"},
            {"x": {"judge": "j"}, "y": {"judge": "k"}},
        ),
        (
            ["here/default=openai:q/w:8b@http://localhost:1/v1", "there/default=openai:q/w:8b"],
            {},
            {"here": {"default": "q/w:8b"}, "there": {"default": "q/w:8b"}},
        ),
        (["openai:q/w:8b@http://localhost:1/v1"], {"default": "q/w:8b"}, {}),
    ],
)
def test_one_bare_model_serves_all_and_several_are_compared(texts, common, compared):
    assert spoken(texts) == (common, compared)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["openai:a", "openai:a@http://localhost:1/v1"], "two models are called 'a'"),
        (["openai:a", "openai:b", "a/default=openai:c"], "two models are named for the role 'default'"),
        (["x/nobody=openai:c"], "no role is called 'nobody'"),
        (["judge=openai:a", "judge=openai:b"], "two models are named for the role 'judge'"),
    ],
)
def test_what_cannot_be_meant_is_refused(texts, said):
    with pytest.raises(UsageError, match=said):
        read_model_sets(texts)
