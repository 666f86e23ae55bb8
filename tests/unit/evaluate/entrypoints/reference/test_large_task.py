"""Tasks of which there is no room: as data at full size, with values at a smaller one, for a device that is not here."""

import pytest

from kernelwright.evaluate.entrypoints.reference.cpu import ReferenceSide
from kernelwright.evaluate.sandbox.messages.calls import ExportGraph, ReduceTask
from kernelwright.evaluate.sandbox.messages.tasks import LoadTask
from kernelwright.evaluate.triton.reduce import ELEMENTS, elements
from kernelwright.records.task import Workload
from kernelwright.records.tensor import Domain
from text_tasks import TextTask

LARGE = {
    "rows of a matrix": TextTask("x", "x.float().softmax(-1)", "torch.randn(600_000, 4096).half()"),
    "a table and its rows": TextTask(
        "x, label", "self.table(label) + x", "torch.rand(3_000_000, 1024), torch.randint(0, 999, (3_000_000,))",
        init="self.table = nn.Embedding(999, 1024)",
    ),
    "a constant": TextTask("x", "torch.relu(x)", "torch.randn(ROWS, 2000)", head="ROWS = 1_100_000"),
    "another shape": TextTask(
        "x, keep", "x.masked_fill(keep, 0).sum(1)",
        "torch.randn(1_500_000, 32, 64).reshape(1_500_000, 2048), torch.randn(1_500_000, 1) > 0",
    ),
    "what it writes to": TextTask("x", "x.mul_(2).tanh()", "torch.randn(size=(1 << 32,))"),
}  # fmt: skip
DOMAINS = {
    "a table and its rows": [Domain.NON_NEGATIVE, Domain.INDEX],
    "another shape": [Domain.REAL, Domain.MASK],
}


def loaded(text, **options):
    """What a reference says of its task, and that reference."""
    side = ReferenceSide()
    return side, side.load(LoadTask(source=text, threads=1, **options))


@pytest.mark.parametrize("name", LARGE)
def test_a_task_beyond_memory_is_described_at_full_size_and_drawn_small(name):
    side, found = loaded(LARGE[name].text, most_bytes=1 << 30)
    rows = found.inputs[0].shape[0]
    assert rows > 500_000
    assert all(t.shape[0] == rows for t in (*found.inputs, *found.outputs))
    assert [i.domain for i in found.inputs] == DOMAINS.get(name, [Domain.REAL])
    assert [i.bound for i in found.inputs if i.domain is Domain.INDEX] in ([], [999])
    graph = side.graph(ExportGraph()).graph
    assert {n.result[0].shape[0] for n in graph.nodes if n.result and n.result[0].shape} == {rows}
    outline = {name: getattr(found, name) for name in ("inputs", "parameters", "outputs", "changes", "state", "tree")}
    smaller = side.reduce(ReduceTask(workload=Workload(**outline), elements=ELEMENTS))
    assert elements(smaller.workload) <= 4 * ELEMENTS
    assert [tuple(t.shape) for t in side._draw(3)] == [i.shape for i in smaller.workload.inputs]


def test_what_is_small_enough_or_runs_on_values_alone_is_described_as_it_is():
    text = TextTask("x", "x[: int(x.sum()) * 0 + 70].exp()", "torch.randn(70, 50)").text
    for most in (None, 1 << 30, 1):
        side, found = loaded(text, most_bytes=most)
        assert (found.inputs[0].shape, side._large) == ((70, 50), None)


def test_what_follows_from_axes_is_drawn_of_the_smaller_ones():
    text = TextTask("x, ends", "x * ends.sum()", "torch.randn(n, 64), torch.tensor([0, n])").text
    text = text.replace("def get_inputs():", "def get_inputs(n):")
    text += "\nimport functools as _f\nget_inputs = _f.partial(get_inputs, n=9_000_000)\n"
    side, found = loaded(text, most_bytes=1 << 30)
    assert found.inputs[0].shape == (9_000_000, 64)
    x, ends = side._draw(3)
    assert len(x) == ends[1] < 1_000_000
