"""Programs as people write them: state, noise, in-place work, and arguments and results of every form."""

from pathlib import Path

import pytest
import torch

from kernelwright.errors import TaskError
from kernelwright.evaluate.pipeline import admit, timing
from kernelwright.evaluate.pipeline.timing import fresh_inputs
from kernelwright.evaluate.session.cases import Fit
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.session.verification import verify_case
from kernelwright.records.candidate import Candidate
from kernelwright.records.comparator import Calibrated, Statistical
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.records.tensor import Domain
from kernelwright.tasks.kernelbench import parse_kernelbench
from lanes import sampled

CPU = Target(kind="cpu", arch="native", present=True)
TASK = """
import collections, dataclasses, torch
from torch import nn

P = collections.namedtuple("P", "a b")

@dataclasses.dataclass(frozen=True)
class Batch:
    tokens: torch.Tensor
    mask: torch.Tensor | None = None
    scale: float = 1.0

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self{arguments}):
        {forward}

def get_inputs():
    return {inputs}
"""


@pytest.fixture
def opened(backend):
    """Open a session for a task in text; it is closed behind the test."""
    sessions = []

    def begin(source, **policy):
        task = parse_kernelbench(source, "tiny", Path("tiny.py"))
        sessions.append(admit.open_session(backend, task, CPU, Policy(seeds=2, **policy), close_oldest=print))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def written(forward, init="pass", arguments=", x", inputs="[torch.randn(8, 16)]"):
    return TASK.format(init=init, arguments=arguments, forward=forward, inputs=inputs)


NORM = written("return self.norm(x)", "self.norm = nn.BatchNorm1d(16)")
STATISTICS = ("norm.running_mean", "norm.running_var", "norm.num_batches_tracked")


def test_what_training_changes_is_an_output_and_put_back_before_each_call(opened):
    session = opened(NORM)
    load = session.task.workload
    assert load.changes == load.state == STATISTICS
    assert [o.name for o in load.outputs] == ["output0", *(f"{name}.after" for name in STATISTICS)]
    case = session.cases[0]
    first, again = (session.results("eager", case.offsets) for _ in range(2))
    assert all(bool((a == b).all()) for a, b in zip(first, again, strict=True))
    assert first[3].item() == 1
    assert session.task.comparators == (Calibrated(),) * 4
    fp64 = session.results("fp64", case.offsets)
    assert fp64[1].allclose(first[1].double(), atol=1e-6)


def test_state_can_be_ignored(opened):
    session = opened(NORM, state="ignore")
    load = session.task.workload
    assert load.changes == STATISTICS
    assert load.state == ()
    assert len(load.outputs) == 1
    assert len(session.results("eager", session.cases[0].offsets)) == 1


def test_dropout_in_training_mode_is_compared_as_a_distribution(opened):
    session = opened(written("return self.drop(x) * 2", "self.drop = nn.Dropout(0.3)"))
    assert session.task.comparators == (Statistical(),)


NOISY = """
        order = torch.randperm(x.shape[1])
        return x[:, order].view(64, 64, 64).sum(2).sum(1) * 1.0
"""


def test_an_order_of_adding_up_that_changes_is_part_of_the_references_own_error(opened):
    session = opened(written(NOISY, inputs="[torch.randn(64, 4096)]"))
    assert session.task.comparators == (Calibrated(),)
    assert 0 < session.original.spread[0] < 1e-2
    assert session.base_error[0] > session.original.spread[0]


MIXED = "return torch.relu((x.bfloat16() @ self.w.bfloat16()).float())"


def test_what_a_task_rounds_itself_is_its_own_error_and_no_part_of_what_is_right(opened, backend):
    """Products in half precision by hand: a kernel that rounds less is right, and one that errs by more is not."""
    source = written(MIXED, "self.w = nn.Parameter(torch.randn(64, 48))", inputs="[torch.randn(96, 64)]")
    session = opened(source)
    assert session.base_error[0] > 1e-3

    def judged(result):
        text = source.replace(MIXED, f"return torch.relu({result})") + SAME
        candidate = Candidate(language="python", source=text)
        trial = Trial(session.original.task, lambda: session, candidate, Policy(seeds=2))
        with backend.prepared(trial) as built, built.load() as loaded:
            for case in session.cases:
                loaded.give_parameters(case.offsets)
                verify_case(loaded, case)

    judged("x @ self.w")
    with pytest.raises(OutcomeReached) as reached:
        judged("x @ self.w * 1.03")
    assert reached.value.outcome.outcome == "incorrect"


ROUTED = "return torch.topk((x.bfloat16() @ self.w.bfloat16()).float(), 4, dim=-1)"


def test_positions_that_pick_from_what_a_task_rounds_itself_are_right(opened, backend):
    """A router in half precision: what its positions pick is known without the roundings too, and is off by them."""
    source = written(ROUTED, "self.w = nn.Parameter(torch.randn(64, 48))", inputs="[torch.randn(96, 64)]")
    session = opened(source)
    candidate = Candidate(language="python", source=source + SAME)
    trial = Trial(session.original.task, lambda: session, candidate, Policy(seeds=2))
    with backend.prepared(trial) as built, built.load() as loaded:
        for case in session.cases:
            loaded.give_parameters(case.offsets)
            verify_case(loaded, case)


def test_randomness_that_nobody_declared_is_refused_still(opened):
    with pytest.raises(TaskError, match="not deterministic"):
        opened(written("return x + 1e-6 * torch.randn(8, 16)"))


ARGUMENTS = {
    "in place": ("return x.add_(1)", ", x", "[torch.randn(8, 16)]"),
    "in place, and a view of it": ("x.mul_(2); return x[0]", ", x", "[torch.randn(8, 16)]"),
    "a view": ("return x.view(-1)", ", x", "[torch.randn(8, 16)]"),
    "a tuple": ("return x + 1, (x * 2, x.exp())", ", x", "[torch.randn(8, 16)]"),
    "a dict": ("return {'sum': x.sum(1), 'all': [x + 1, x * 2]}", ", x", "[torch.randn(8, 16)]"),
    "a dataclass": (
        "return dataclasses.make_dataclass('Pair', ['a', 'b'])(x + 1, None)", ", x", "[torch.randn(8, 16)]",
    ),
    "None beside it": ("return x + 1, None", ", x", "[torch.randn(8, 16)]"),
    "a number beside it": ("return x + 1, x.shape[0]", ", x", "[torch.randn(8, 16)]"),
    "keywords": ("return x * scale + shift", ", x, *, shift, scale=2", "{'x': torch.randn(8, 16), 'shift': torch.randn(16)}"),
    "an optional argument": ("return x + 1 if y is None else x + y", ", x, y=None", "[torch.randn(8, 16), None]"),
    "a list of tensors": ("return torch.cat(xs, 1) * 2", ", xs", "[[torch.randn(8, 16), torch.randn(8, 3)]]"),
    "a dict of tensors": ("return d['a'] @ d['b'][0]", ", d", "[{'a': torch.randn(8, 16), 'b': (torch.randn(16, 4),)}]"),
    "a named tuple": ("return p.a @ p.b", ", p", "[P(torch.randn(8, 16), torch.randn(16, 4))]"),
    "a dataclass of tensors": (
        "return b.tokens * b.scale + (0 if b.mask is None else b.mask)", ", b", "[Batch(torch.randn(8, 16), scale=2.0)]",
    ),
    "complex numbers": ("return x * y.conj(), (x * y).abs()", ", x, y", "[torch.randn(8, 16) + 1j, torch.randn(16) * 1j]"),
    "a complex number of no dimension": ("return torch.fft.fft(x) * w", ", x, w", "[torch.randn(8, 16), torch.tensor(2j)]"),
    "floats of eight bits": (
        "return (x.float() * scale).to(torch.float8_e4m3fn), x.float() @ x.float().T, x.T", ", x, scale",
        "[torch.randn(8, 16).to(torch.float8_e5m2), torch.rand(16) + 0.5]",
    ),
    "a Python number": ("return x * scale", ", x, scale", "[torch.randn(8, 16), 2.5]"),
    "a number before a tensor": ("return x * scale + y", ", scale, x, y", "[2, torch.randn(8, 16), torch.randn(8, 16)]"),
    "a word": ("return x.sum(1) if how == 'sum' else x", ", x, how", "[torch.randn(8, 16), 'sum']"),
    "strided": ("return x @ x.t() * 2", ", x", "[torch.randn(16, 8).t()]"),
    "expanded": ("return x + y", ", x, y", "[torch.randn(8, 16), torch.randn(1, 16).expand(8, 16)]"),
    "no dimension": ("return x * y", ", x, y", "[torch.randn(8, 16), torch.randn(())]"),
    "no element": ("return x + 1, y * 2", ", x, y", "[torch.randn(8, 16), torch.randn(0, 16)]"),
    "a result of no dimension": ("return x.square().sum()", ", x", "[torch.randn(8, 16)]"),
}  # fmt: skip


@pytest.mark.parametrize("form", ARGUMENTS)
def test_arguments_and_results_of_every_form_are_judged(opened, form):
    forward, arguments, inputs = ARGUMENTS[form]
    session = opened(written(forward, arguments=arguments, inputs=inputs))
    assert session.cases
    assert all(len(case.expected) == len(session.task.workload.outputs) for case in session.cases)


def test_complex_numbers_are_pairs_of_real_ones_for_kernels_and_comparisons(opened):
    session = opened(written("return x.square() * self.turn", "self.register_buffer('turn', torch.randn(16) * 1j)",
                             inputs="[torch.randn(8, 16, dtype=torch.complex64)]"))  # fmt: skip
    load = session.task.workload
    specs = [(t.shape, t.dtype) for t in (*load.tensors, *load.parameters, *load.outputs)]
    assert specs == [((8, 16, 2), "float32"), ((16, 2), "float32"), ((8, 16, 2), "float32")]
    case = session.cases[1]
    x, turn = (torch.view_as_complex(session.view(i, case.offsets[i]).clone()) for i in range(2))
    assert torch.allclose(
        torch.view_as_complex(session.results("fp64", case.offsets)[0]), (x.square() * turn).to(torch.complex128)
    )


def test_inputs_that_forward_changes_are_outputs_where_no_result_says_the_same(opened):
    same, other = (
        opened(written(*ARGUMENTS[form][:1])).task.workload for form in ("in place", "in place, and a view of it")
    )
    assert same.changes == other.changes == ("x",)
    assert same.state == ()
    assert [o.name for o in other.outputs] == ["output0", "x.after"]


@pytest.mark.parametrize("model", ["def Model(x):\n    return x.exp() + 1", "Model = torch.nn.Softmax(dim=-1)"])
def test_a_plain_function_and_a_ready_module_are_models_too(opened, model):
    session = opened(f"import torch\n{model}\n\ndef get_inputs():\n    return [torch.randn(8, 16)]\n")
    assert session.task.workload.tensors[0].domain is Domain.REAL
    assert session.cases


DRAWN = "[torch.rand(8, 16), torch.rand(8, 16)]"


@pytest.mark.parametrize(
    ("forward", "domains"),
    [
        ("return x.relu() + y.clamp(max=5)", (Domain.REAL, Domain.REAL)),
        ("return x.sqrt() * y", (Domain.NON_NEGATIVE, Domain.REAL)),
        ("return x * y.log()", (Domain.REAL, Domain.NON_NEGATIVE)),
        ("return torch.nn.functional.binary_cross_entropy(x, y)", (Domain.NON_NEGATIVE, Domain.NON_NEGATIVE)),
    ],
)
def test_what_was_drawn_is_evidence_of_a_domain_and_no_limit(opened, forward, domains):
    session = opened(written(forward, arguments=", x, y", inputs=DRAWN))
    assert tuple(t.domain for t in session.inputs) == domains


def test_what_traps_a_gpu_beyond_what_was_drawn_is_timed_on_the_task_s_own_inputs_alone(opened, monkeypatch):
    """A process that trapped answers nothing any more: the loss was no longer judged once scaled inputs had been tried."""
    forward = "return torch.nn.functional.binary_cross_entropy(x, y)"
    session = opened(written(forward, arguments=", x, y", inputs=DRAWN))
    tried = []
    monkeypatch.setattr(timing, "traps", lambda task: True)  # a host raises, and is asked
    monkeypatch.setattr(session, "results", lambda *asked: tried.append(asked))
    assert fresh_inputs(session, session.policy).draws
    assert session.fit == Fit(drawn=True, challenge=False)
    assert not tried


@pytest.mark.parametrize("operator", ["relu()", "clamp(0, 1)"])
def test_an_answer_that_is_trivial_on_the_drawn_sample_alone_is_no_reason_to_refuse(opened, operator):
    assert opened(written(f"return x.{operator}", inputs="[torch.rand(8, 16)]")).cases


def test_a_limit_that_the_author_means_stays_one(opened):
    source = written("return x.relu() * 1.0", inputs="[torch.rand(8, 16)]") + "\nDOMAINS = {0: 'non_negative'}\n"
    with pytest.raises(TaskError, match="the input itself would pass"):
        opened(source)


SAME = "\n\nclass ModelNew(Model):\n    pass\n"
QUICK = ("in place, and a view of it", "keywords", "floats of eight bits")
"""Forms that every pass tries; the long matrix tries all."""


@pytest.mark.parametrize("form", sampled(ARGUMENTS, lambda form: form in QUICK))
def test_a_program_of_every_form_is_right_as_a_candidate_too(backend, form):
    forward, arguments, inputs = ARGUMENTS[form]
    source = written(forward, arguments=arguments, inputs=inputs)
    policy = Policy(seeds=2, search_blocks=4, baselines=("eager",))
    session = admit.open_session(backend, parse_kernelbench(source, "tiny", Path("tiny.py")), CPU, policy, print)
    try:
        candidate = Candidate(language="python", source=source + SAME)
        trial = Trial(session.original.task, lambda: session, candidate, policy)
        with backend.prepared(trial) as built, built.load() as loaded:
            for case in session.cases:
                loaded.give_parameters(case.offsets)
                verify_case(loaded, case)
        assert len(trial.found.cases) == len(session.cases) * len(session.task.workload.outputs)
    finally:
        session.close()
