"""PyTorch's precision flags: what a process begins with, and what is told of those that its code sets."""

import subprocess
import sys

import pytest

from kernelwright.records.numerics import Numerics, legible

IMPORT = "from kernelwright.evaluate.entrypoints import numerics\nimport torch\n"


def printed(code):
    """What a process of its own prints: flags are the whole process's, and other tests need theirs."""
    done = subprocess.run([sys.executable, "-c", IMPORT + code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.matrix
def test_flags_travel_from_one_process_to_another():
    setting = "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.benchmark = True\n"
    (told,) = printed(f"{setting}print(numerics.told())")
    given, changed = printed(
        f"numerics.take({told})\nprint(numerics.told())\nbegun = numerics.everything()\n"
        "torch.backends.cudnn.allow_tf32 = False\nprint(numerics.changed(begun, 'with torch.autocast'))"
    )
    assert eval(given) == eval(told)
    assert eval(told)["float32_matmul_precision"] == "high"
    assert eval(told)["cudnn.benchmark"] is True
    assert eval(changed)["cudnn.allow_tf32"] is False
    assert eval(changed)["autocast"] is True


def test_flags_that_cannot_be_read_by_their_old_name_are_told_by_their_new_one():
    (told,) = printed("torch.backends.cuda.matmul.fp32_precision = 'tf32'\nprint(numerics.told())")
    assert "float32_matmul_precision" not in eval(told)
    assert eval(told)["cuda.matmul.fp32_precision"] == "tf32"


def test_a_hostile_process_tells_nothing_long_and_nothing_unknown():
    assert legible({"cudnn.allow_tf32": "x" * 1000, "rm -rf": True}) == {"cudnn.allow_tf32": "x" * 20}


def test_flags_that_a_kernel_sets_are_named_beside_those_of_the_reference():
    same = Numerics(flags={"cudnn.allow_tf32": True})
    own = same.model_copy(update={"candidate": {"cudnn.benchmark": True}})
    assert same.words == "as-is: cudnn.allow_tf32=True"
    assert own.words == "as-is: cudnn.allow_tf32=True; set by the kernel: cudnn.benchmark=True"
    assert own.differs
    assert not same.differs
