"""Seventy honest C++ kernels over many kinds of tasks: every one is built, verified and timed, and none may be refused.

The folder `honest` holds a task and its kernels in two files of one name: sums in other orders, other blockings, other
precisions inside, other ties, other random numbers.
"""

import re
from functools import partial
from pathlib import Path

import pytest
from file_tasks import HONEST

import calm
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from lanes import sampled

FOLDER = Path(__file__).parent / "honest"
NAMES = sorted(path.stem for path in FOLDER.glob("*.cpp"))
ENTRY = re.compile(r'^extern "C" void (\w+)\(', re.MULTILINE)
FLAGS = re.compile(r"^// flags: (.+)$", re.MULTILINE)
LONG = (
    "bfloat_product", "broadcast", "cross_entropy", "divergence", "dropout", "embedding", "fast_math", "float8_product",
    "float8_rows", "gelu", "half_scale", "layer_norm", "leading_sum", "log_sum_exp", "long_mean", "mask", "normalised",
    "order", "partly_empty", "product", "quantised", "row_maxima", "row_sum", "running_sum", "silu", "small_convolution",
    "softmax", "tiny", "top", "variance", "whole_numbers",
)  # fmt: skip
"""Tasks that take several times as long as the others. Their kinds are met in every run as well: draws in `cheats`, sums and
precisions in `half_mean`, largest ones in `best_row`, single elements in `odd`."""
QUICK = Policy(baselines=("eager",), run_limit_s=20, search_blocks=10, search_seconds=2)


def written(name):
    """The kernels of a task: their text, their names, the compiler's flags."""
    text = (FOLDER / f"{name}.cpp").read_text()
    flags = FLAGS.search(text)
    return (FOLDER / "prelude.h").read_text() + text, ENTRY.findall(text), tuple(flags[1].split()) if flags else ()


@pytest.mark.parametrize("name", sampled(NAMES, lambda name: name not in LONG))
def test_no_honest_kernel_is_refused(bench, name):
    source, entries, flags = written(name)
    with bench.alone(HONEST[name].source(name)) as task:
        for entry in entries:
            candidate = Candidate(language="cpp", source=source, entry=entry, flags=flags)
            found = calm.until(
                partial(bench.evaluate, task, candidate, QUICK), lambda found: found.outcome != "suspect"
            )
            assert found.outcome == "measured", (entry, found)


def test_there_are_at_least_sixty_over_many_tasks():
    assert sum(len(written(name)[1]) for name in NAMES) >= 60
    assert len(NAMES) >= 30
