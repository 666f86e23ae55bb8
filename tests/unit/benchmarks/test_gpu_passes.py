"""The passes on GPUs keep to the GPUs that they are given: a host's others may be busy with another pass."""

import os
import subprocess
from pathlib import Path

import pytest

PASSES = Path(__file__).parents[3] / "benchmarks" / "gpu"
SAYS = """#!/bin/bash
case "$1" in
  benchmarks/*) echo "${1##*/} ${CUDA_VISIBLE_DEVICES-all} $*" >>"$CALLS" ;;
  -m) echo "$7 ${CUDA_VISIBLE_DEVICES-all} $*" >>"$CALLS" ;; # kernelwright train pipeline FOLDER --recipe NAME
esac
"""
HOST = "#!/bin/bash\nfor n in 1 2 3 4; do echo 'NVIDIA H200'; done\n"


@pytest.fixture
def calls(tmp_path):
    """Runs a pass on a host of four GPUs whose programs do nothing; returns program, GPU and arguments of each of them."""
    for name, text in (("python3", SAYS), ("nvidia-smi", HOST)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def of(name, *options, gpus="", **others):
        told = tmp_path / "calls"
        told.unlink(missing_ok=True)
        mine = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(told), "KEEP": str(tmp_path / "keep")}
        command = [str(PASSES / name), str(tmp_path / "out"), "300", *options]
        # What it says goes nowhere: its last sleep would hold a pipe open.
        subprocess.run(
            command,
            env={**os.environ, **mine, "GPUS": gpus, **others},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return sorted(line.split(" ", 2) for line in told.read_text().splitlines())

    return of


def seen(found, program):
    return sorted({gpu for name, gpu, arguments in found if name == program and "--join" not in arguments})


def test_the_referee_s_pass_keeps_to_its_gpus(calls):
    found = calls("referee", gpus="3,1")
    assert seen(found, "field.py") == ["1", "3"]
    assert [seen(found, name) for name in ("published.py", "gpu_tests.py", "attacks.py")] == [["3"], ["1"], ["1"]]
    (alone,) = calls("referee", "suite", gpus="3")
    assert alone[:2] == ["gpu_tests.py", "3"]


def test_without_a_choice_all_gpus_of_the_host_are_used(calls):
    assert seen(calls("referee", "field"), "field.py") == ["0", "1", "2", "3"]
    assert seen(calls("author", "default"), "author.py") == ["0", "1", "2", "3"]


def test_training_keeps_to_its_gpus(calls):
    assert seen(calls("frontend", gpus="2,3"), "forms") == ["2", "3"]
    (midend,) = calls("midend", gpus="3,1,2")
    assert midend[1] == "3"
    assert midend[2].endswith('--set gpus=["1", "2", ]')


def test_each_arm_of_a_training_has_a_gpu_and_a_folder_of_its_own(calls):
    of_seeds = calls("frontend", gpus="1,3", ARMS="4;4 --set grpo.learning_rate=1e-4")
    assert [gpu for _, gpu, _ in of_seeds] == ["1", "3"]
    assert [arguments.split("--set seed=")[1] for *_, arguments in of_seeds] == ["4", "4 --set grpo.learning_rate=1e-4"]
    calls("midend")
    of_rewards = calls("midend", gpus="2,0", ARMS="raw ungated")
    assert [(gpu, arguments.split("--only ")[1].split()[0]) for _, gpu, arguments in of_rewards] == [
        ("0", "ungated"),
        ("2", "raw"),
    ]
    assert len({arguments.split("pipeline ")[1].split()[0] for *_, arguments in [*of_seeds, *of_rewards]}) == 4
