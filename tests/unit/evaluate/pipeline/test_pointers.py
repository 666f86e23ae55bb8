"""A function with too few or too many pointers is refused before it is built, with what it should take."""

from kernelwright.evaluate.pipeline.service import other_arguments
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload
from kernelwright.records.tensor import TensorSpec


def spec(name):
    return TensorSpec(name=name, shape=(4,), dtype="float32")


LOSS = Workload(inputs=(spec("predictions"), spec("targets")), parameters=(), outputs=(spec("mean"),))


def told(parameters, workload=LOSS, workspace_bytes=0):
    source = f'extern "C" void kernel({parameters}) {{}}'
    found = other_arguments(
        workload, Candidate(language="cpp", source=source, entry="kernel", workspace_bytes=workspace_bytes)
    )
    return found and found.reason


def test_too_few_and_too_many_are_told_with_what_is_handed_over():
    assert told("const float* x, float* out") == (
        "kernel takes 2 pointers, the task hands over 3: predictions, targets, out"
    )
    assert told("const float* x, const float* y, float* out, void* workspace") == (
        "kernel takes 4 pointers, the task hands over 3: predictions, targets, out; one more, for scratch memory, comes "
        "last where its size is stated"
    )


def test_as_many_as_there_are_pass_and_scratch_memory_may_be_left():
    three = "const float* x, const float* y, float* out"
    assert told(three) is None
    assert told(three, workspace_bytes=64) is None
    assert told(f"{three}, void* workspace", workspace_bytes=64) is None
    assert told("const float* x, int n") is None


def test_modules_and_plans_are_called_otherwise():
    assert other_arguments(LOSS, Candidate(language="python", source="class ModelNew: ...")) is None
    assert other_arguments(LOSS, Candidate(language="cuda", source="__global__ void f(float* x) {}", entry="f")) is None


def test_parameters_count_and_of_many_names_some_are_told():
    parameters = tuple(spec(f"w{i}") for i in range(40))
    many = Workload(inputs=(spec("x"),), parameters=parameters, outputs=(spec("a"), spec("b")))
    found = told("float* out", many)
    assert found.startswith("kernel takes 1 pointer, the task hands over 43: x, w0, w1, ")
    assert found.endswith("w9, … out1")
