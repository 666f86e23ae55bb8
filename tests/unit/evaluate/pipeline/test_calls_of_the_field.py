"""Modules as libraries have them, from a file: any call is a task, and PyTorch's own answer to it is right."""

from pathlib import Path

import pytest

from kernelwright import calltree
from kernelwright.errors import ProposeError, TaskError
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.session.verification import verify_case
from kernelwright.propose.author.read.read import read
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.tasks.kernelbench import parse_kernelbench
from lanes import sampled

CPU = Target(kind="cpu", arch="native", present=True)
SAME = "\n\nclass ModelNew(Model):\n    pass\n"
LSTM = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTM(6, 5, num_layers=2)

    def forward(self, x, state=None):
        return self.cell(x, state)


def get_inputs():
    return {"x": torch.randn(3, 2, 6), "state": (torch.randn(2, 2, 5), torch.randn(2, 2, 5))}
"""
LLAMA = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache

CONFIG = LlamaConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, vocab_size=50)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = LlamaForCausalLM(CONFIG).eval()

    def forward(self, **call):
        return self.model(**call)


def get_inputs():
    past = DynamicCache(config=CONFIG)
    for layer in range(2):
        past.update(torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4), layer)
    return {"input_ids": torch.randint(0, 50, (2, 3)), "past_key_values": past, "use_cache": True}
"""
OWN = """
import dataclasses, enum
from typing import NamedTuple

import numpy as np
import torch


class Kind(enum.Enum):
    SUM = 1
    MEAN = 2


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor | None


class State:
    def __init__(self, steps):
        self.steps, self.count = steps, len(steps)

    def all(self):
        return torch.cat(self.steps, -1)


@dataclasses.dataclass
class Out:
    pooled: torch.Tensor
    pair: Pair
    state: State
    kind: str = "sum"


class Model(torch.nn.Module):
    def forward(self, state, kind, table, where=slice(None), dtype=torch.float32):
        x = state.all()[where].to(dtype) * table["rows"][1]
        pooled = x.sum(-1) if kind is Kind.SUM else x.mean(-1)
        state.steps.append(x.exp())
        return Out(pooled, Pair(x, None), state)


def get_inputs():
    rows = {1: np.ones((4, 1), np.float32) * 2}
    return [State([torch.randn(4, 3), torch.randn(4, 2)]), Kind.SUM, {"rows": rows}, slice(0, 4)]
"""


def judged(backend, source, candidate=""):
    """The task, judged by itself, or by another text."""
    policy = Policy(seeds=2, search_blocks=4, baselines=("eager",))
    session = admit.open_session(backend, parse_kernelbench(source, "tiny", Path("tiny.py")), CPU, policy, print)
    try:
        trial = Trial(
            session.original.task,
            lambda: session,
            Candidate(language="python", source=candidate or source + SAME),
            policy,
        )
        with backend.prepared(trial) as built, built.load() as loaded:
            for case in session.cases:
                loaded.give_parameters(case.offsets)
                verify_case(loaded, case)
        assert len(trial.found.cases) == len(session.cases) * len(session.task.workload.outputs)
        return session.original.task
    finally:
        session.close()


@pytest.mark.parametrize(
    ("source", "inputs", "outputs"),
    [
        pytest.param(LSTM, 3, 3, id="LSTM"),
        pytest.param(OWN, 3, 5, id="own classes"),
        pytest.param(LLAMA, 5, 5, id="Llama", marks=pytest.mark.matrix),
    ],
)
def test_a_module_with_any_call_is_taken_and_equal_to_itself(backend, source, inputs, outputs):
    task = judged(backend, source)
    load = task.workload
    assert (len(load.tensors), len(load.outputs)) == (inputs, outputs)
    assert load.result is not None
    assert [o.name for o in load.outputs] == [f"output{i}" for i in range(outputs)]
    assert calltree.arguments(load.tree, [None] * len(load.inputs)) is not None


UNTRACEABLE = {
    "a size": ("s = torch.zeros(int(at.max()) + 1, 6).index_add_(0, at, x * x); return s[at]", "dict(x=X, at=AT)"),
    "a mask": ("return x[at > 1].sum(0) * 2", "dict(x=X, at=AT)"),
    "slices": ("return torch.cat([x[a:b].softmax(0) for a, b in zip(at[:-1], at[1:])])", "[X, torch.tensor([0, 3, 5, 9])]"),
    "a branch": ("return x.tanh() if x.sum() > 0 else x.sin()", "[X]"),
    "a number": ("return x * float(x.abs().max())", "[X]"),
    "a packed sequence": (
        "return rnn.pad_packed_sequence(self.gru(rnn.pack_padded_sequence(x, at.cpu()))[0])[0]",
        "[torch.randn(4, 3, 6), torch.tensor([4, 4, 2])]",
    ),
    "a packed sequence in any order": (
        "p = rnn.pack_padded_sequence(x, at.cpu(), batch_first=True, enforce_sorted=False); return self.gru(p)[1]",
        "[torch.randn(3, 4, 6), torch.tensor([2, 4, 1])]",
    ),
    "sequences packed together": (
        "p = rnn.pack_sequence([r[: int(n)] for r, n in zip(x, at)], False); return self.gru(p)[0].data.mean(0)",
        "[torch.randn(3, 4, 6), torch.tensor([3, 4, 2])]",
    ),
    "whole numbers": ("return (x * 8).round().long().unique(return_counts=True)[1].sum() + x.argmax(-1)", "[X]"),
}  # fmt: skip
WITHOUT = """
import torch
from torch.nn.utils import rnn

X, AT = torch.randn(9, 6), torch.randint(0, 4, (9,))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {gru}

    def forward(self, x, at=None):
        {forward}


def get_inputs():
    X, AT = torch.randn(9, 6), torch.randint(0, 4, (9,))
    return {inputs}
"""


@pytest.mark.parametrize("form", UNTRACEABLE)
def test_a_graph_is_a_help_and_no_condition(backend, form):
    forward, inputs = UNTRACEABLE[form]
    gru = "self.gru = torch.nn.GRU(6, 5)" if "gru" in forward else "pass"
    task = judged(backend, WITHOUT.format(forward=forward, inputs=inputs, gru=gru))
    assert task.graph.untraced.startswith("torch.export cannot trace it")
    assert "raised" not in task.graph.untraced
    with pytest.raises(ProposeError, match="export cannot trace it"):
        read(task)


MADE = {
    "of the default type": "torch.zeros(4, 6).index_add(0, at, x)",
    "of a type by name": "torch.full((4, 6), 0.5, dtype=torch.float32).index_add(0, at, x)",
    "a table": "x @ torch.linspace(0, 1, 36).view(6, 6) + torch.eye(6)[at % 6]",
    "a number": "torch.addmm(torch.tensor(0.5), x, x.T)",
}


@pytest.mark.parametrize("form", MADE)
def test_what_forward_makes_is_no_hindrance_in_double_precision(backend, form):
    task = judged(
        backend,
        WITHOUT.format(
            forward=f"return {MADE[form]}", inputs="dict(x=X, at=AT)" if "at" in MADE[form] else "[X]", gru="pass"
        ),
    )
    assert not task.graph.untraced


INFINITE = {
    "a filter of logits": "return x.masked_fill(x < x.topk(2, -1).values[:, -1:], float('-inf'))",
    "both signs, beside a sum": (
        "return torch.where(x > 1, -float('-inf'), x.exp().masked_fill(x < -1, float('-inf'))), x.sum(-1)"
    ),
    "a logarithm of nothing": "return torch.log(x.relu())",
    "in half precision": "return x.half().masked_fill(at[:, None] > 1, float('-inf')) * 2",
}


@pytest.mark.parametrize("form", sampled(INFINITE, lambda form: "both" in form))
def test_infinities_that_are_meant_are_compared_as_such(backend, form):
    text = WITHOUT.format(
        forward=INFINITE[form], inputs="dict(x=X, at=AT)" if "at[" in INFINITE[form] else "[X]", gru="pass"
    )
    judged(backend, text)
    for wrong in ("-3e4", "nan", "inf"):
        candidate = text.replace("'-inf'", f"'{wrong}'").replace("x.relu()", "x.relu() + 1e-30") + SAME
        with pytest.raises(OutcomeReached) as reached:
            judged(backend, text, candidate)
        outcome = reached.value.outcome
        assert outcome.outcome == "incorrect"
        words = "are not finite" if wrong == "nan" and "'-inf'" in text else "are not infinite alike"
        assert words in outcome.evidence


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        ("return x.sum(-1), (x - x) / (x - x)", "NaN on its own inputs: output 1 is NaN at [0, 0]"),
        ("return x.half() * 70000", "output 0"),
    ],
)
def test_what_is_refused_names_the_output_and_the_element(backend, forward, said):
    with pytest.raises(TaskError) as refused:
        judged(backend, WITHOUT.format(forward=forward, inputs="[X]", gru="pass"))
    assert said in str(refused.value)
    assert refused.value.reason == "not_finite"
