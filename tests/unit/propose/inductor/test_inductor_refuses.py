"""The proposer `inductor` says before a run what it knows without asking PyTorch's compiler."""

from kernelwright.errors import ProposeError
from kernelwright.propose.inductor.inductor import Inductor
from kernelwright.testing.samples import sample_task


def changing(target=None):
    task = sample_task()
    workload = task.workload.model_copy(update={"changes": ("x",)})
    update = {"workload": workload} if target is None else {"workload": workload, "target": target}
    return task.model_copy(update=update)


def refusal(task):
    try:
        Inductor().refuse(task, None)
    except ProposeError as error:
        return str(error)
    return ""


def test_a_task_that_writes_to_an_input_is_refused_where_cpp_is_written():
    assert "writes to 'x', which C++ may not" in refusal(changing())


def test_triton_may_write_to_it():
    gpu = sample_task().target.model_copy(update={"kind": "cuda", "arch": "sm_90", "present": False})
    assert refusal(changing(gpu)) == ""


def test_what_only_the_compiler_knows_is_left_to_the_run():
    assert refusal(sample_task()) == ""
