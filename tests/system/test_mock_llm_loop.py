"""The drill server and the real referee: a loop that shows what was found reaches the best, a blind one does not."""

import re

import openai
import pytest

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.records.evaluation import BuildFailed, Incorrect, Measured, Refused, Suspect
from kernelwright.tasks.kernel_file import parse_kernel
from mock_llm import Faults, MockLLMServer

SOFTMAX = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)

def get_inputs():
    return [torch.randn(1024, 1024)]
"""
FAULTS = Faults(rate=1.0, kinds=("undeclared", "punctuation", "wrong_constant", "off_by_one"))
REPLIES = 9
"""Three handicaps, and a fault at each of the four kernels."""
SEED = 6
"""Draws follow the prompts, and so the figures that were measured: nothing hangs on this one."""


@pytest.fixture(scope="module")
def task(asked):
    return asked.admit(SOFTMAX, "softmax")


@pytest.fixture
def server(task):
    with MockLLMServer([task], seed=SEED, faults=FAULTS) as found:
        yield found


def candidate(source):
    found = parse_kernel(source, ".cpp")
    flags = re.search(r"^// flags: (.+)$", source, re.MULTILINE)
    return found.model_copy(update={"flags": tuple(flags[1].split())})


def judged(asked, task, made):
    """The evaluation; taken again where a busy machine disturbed the clock."""
    for _ in range(3):
        found = asked.runner.run(asked.referee.evaluate(task, made))
        if not isinstance(found, Suspect):
            break
    return found


def evidence(asked, task, source):
    """Sections with what the referee found, and the evaluation."""
    made = candidate(source)
    found = judged(asked, task, made)
    if isinstance(found, BuildFailed | Refused):
        return f"## Compiler log\n\n```text\n{getattr(found, 'log', '') or found.reason}\n```", found
    if isinstance(found, Incorrect):
        return f"## Mismatch\n\n```text\n{found.because}, case {found.case}: {found.evidence}\n```", found
    assert isinstance(found, Measured), found
    profile = asked.runner.run(asked.referee.profile(task, made, found.build))
    told = diagnose(profile, found)
    return f"## Profile\n\nBottleneck: {told.bottleneck}.\n\n```text\n{told.words}\n```", found


def ask(server, *parts):
    text = "\n\n".join([f"## Reference\n\n```python\n{SOFTMAX}\n```", *parts, "## Reply\n\nOne block tagged `cpp`."])
    with openai.OpenAI(api_key="none", base_url=server.base_url) as client:
        reply = client.chat.completions.create(model=server.model, messages=[{"role": "user", "content": text}])
    return re.search(r"```cpp\n(.*)\n```", reply.choices[0].message.content, re.DOTALL)[1]


def shown(source):
    return f"## Candidate\n\n```cpp\n{source}\n```"


@pytest.mark.matrix
def test_a_loop_that_shows_what_was_found_reaches_the_authors_kernel(server, asked, task):
    source, found = ask(server), []
    for _ in range(REPLIES):
        told, evaluation = evidence(asked, task, source)
        found.append(evaluation)
        if isinstance(evaluation, Measured) and "namespace drill" not in source:
            break
        source = ask(server, shown(source), told)
    measured = [e for e in found if isinstance(e, Measured)]
    assert "namespace drill" not in source
    assert measured[-1] is found[-1]
    assert measured[-1].timing.latency_us < measured[0].timing.latency_us / 2
    assert {s.kind for s in server.served} == {"seed", "mended", "improved"}


def test_a_blind_loop_with_as_many_replies_does_not(server):
    source = ask(server)
    for _ in range(REPLIES):
        source = ask(server, shown(source))
        assert "namespace drill" in source
    assert server.counts["improved"] == server.counts["mended"] == 0
