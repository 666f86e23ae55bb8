"""Polynomials of sizes: fitted to what programs have at several sizes, refused where there is none."""

import pytest

from kernelwright.records.free_sizes import FreeAxis, FreeSizes
from kernelwright.records.graph import OpGraph
from kernelwright.records.task import Target, Task, TaskSource, Workload
from kernelwright.records.tensor import TensorSpec
from kernelwright.tasks.free_axes import FACTORS, STEP, at, fitted, followed, points

AXES = (FreeAxis(name="size0", size=4), FreeAxis(name="size1", size=48))


def values(of):
    return [of(point["size0"], point["size1"]) for point in points(AXES)]


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (lambda a, b: 7, "7"),
        (lambda a, b: 12 * a, "12*size0"),
        (lambda a, b: b - 1, "size1 - 1"),
        (lambda a, b: 3 * b * b, "3*size1*size1"),
        (lambda a, b: a * (b + 16) * 32, "32*size0*size1 + 512*size0"),
        (lambda a, b: 5 - a, "5 - size0"),
        (lambda a, b: a // 3, None),
        (lambda a, b: 1 << a.bit_length(), None),
    ],
)
def test_a_short_polynomial_is_found_and_nothing_else(of, text):
    assert fitted(values(of), points(AXES)) == text


def test_no_block_divides_the_sizes_that_are_compared_and_no_two_axes_are_alike():
    for point in points(AXES):
        assert len(set(point.values())) == len(AXES)
        assert all(size % STEP == 1 and all(size % factor for factor in FACTORS) for size in point.values())


def tree(a, b, word="x"):
    return {"inputs": [{"name": word, "shape": [a, b]}], "nodes": [{"flops": a // 3, "value": a * b, "is": True}]}


def test_what_follows_is_told_by_its_path_and_estimates_are_passed_over():
    free = followed(AXES, tree(4, 48), [tree(*point.values()) for point in points(AXES)])
    assert free.places == {
        "inputs.0.shape.0": "size0", "inputs.0.shape.1": "size1", "nodes.0.value": "size0*size1",
    }  # fmt: skip


@pytest.mark.parametrize("other", [tree(4, 49), tree(4, 48, "y")])
def test_a_program_that_is_another_one_at_its_own_sizes_has_no_free_sizes(other):
    assert followed(AXES, other, [tree(*point.values()) for point in points(AXES)]) is None


def test_a_task_at_other_sizes_keeps_what_does_not_follow():
    specs = [TensorSpec(name=name, shape=(4, 48), dtype="float32") for name in ("x", "y")]
    task = Task(
        source=TaskSource(name="t", format="kernelbench", source=""),
        target=Target(kind="cpu", arch="native", present=True),
        workload=Workload(inputs=(specs[0],), parameters=(), outputs=(specs[1],)),
        graph=OpGraph(inputs=("x",), parameters=(), nodes=(), outputs=("y",)),
        free=FreeSizes(axes=AXES, places={"inputs.0.shape.0": "size0", "outputs.0.shape.0": "2*size0"}),
    )
    other = at(task, {"size0": 9})
    assert (other.workload.inputs[0].shape, other.workload.outputs[0].shape) == ((9, 48), (18, 48))
    assert other.free is None
    assert task.model_copy(update={"free": None}).id == task.id, "it follows from the source"
