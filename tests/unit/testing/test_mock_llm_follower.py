"""The server follows worked steps on serial tasks, and chooses among steps as a navigator, with the faults that it is told."""

import json

import pytest
from chat_requests import post

from kernelwright.testing.samples import sample_task
from mock_llm import MODEL, Faults, MockLLMServer
from mock_llm.faults import BROKEN

TASK = sample_task()
SERIAL = TASK.model_copy(
    update={
        "source": TASK.source.model_copy(
            update={"serial": "void twice();\n", "source": "SERIAL TASK", "sizes": {"n": 64}, "format": "serial"}
        )
    }
)
BEFORE = """extern "C" void kernel(const float* x, float* out) {
  constexpr long n = 8;
  one(n);
  between();
  end();
}
"""
AFTER = BEFORE.replace("one(n)", "two(n)")


def asked(candidate="", seed=1):
    """A request of a walk over the graph."""
    step = f"Why: x\n\nBefore:\n\n```cpp\n{BEFORE}```\n\nAfter:\n\n```cpp\n{AFTER}```"
    at_hand = f"## Candidate\n\n```cpp\n{candidate}```\n\n" if candidate else ""
    text = f"## Reference\n\n```c\nvoid twice();\n```\n\n{at_hand}## Technique\n\n````text\n{step}\n````\n"
    return {"model": MODEL, "seed": seed, "messages": [{"role": "user", "content": text}]}


def said(server, request):
    return post(server, request)["choices"][0]["message"]["content"]


@pytest.fixture
def server():
    with MockLLMServer([SERIAL], seed=3, faults=Faults(rate=0)) as found:
        yield found


def test_what_the_step_shows_after_it_is_the_answer_at_the_sizes_of_the_task(server):
    made = said(server, asked(BEFORE))
    assert "two(n);" in made
    assert "constexpr long n = 64;" in made


def test_whatever_is_at_hand(server):
    for candidate in ("", "quite another\n"):
        assert "two(n);" in said(server, asked(candidate))


def test_faults_of_content_are_handed_out():
    with MockLLMServer([SERIAL], seed=3, faults=Faults(rate=1, kinds=("undeclared",))) as server:
        assert "drill_missing" in said(server, asked())
    with MockLLMServer([SERIAL], seed=3, faults=Faults(rate=1, kinds=("prose",))) as server:
        assert "```" not in said(server, asked())
    assert "undeclared" in BROKEN


def test_a_navigator_is_told_one_of_the_steps(server):
    menu = "## Steps that lead on\n\n- `alpha`: why. Elsewhere: faster.\n- `beta-two`: why.\n"
    request = {"model": MODEL, "seed": 5, "messages": [{"role": "user", "content": menu}]}
    assert json.loads(said(server, request))["technique"] in ("alpha", "beta-two")
