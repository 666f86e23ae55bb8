"""Tasks whose drop-ins are tried: as files beside their tasks, and what became of each circumstance in a process of its own.

The sources are wrapped as the author writes them, without a search; `drop_in_kernels.py` has those that it cannot write.
`benchmarks/drop_ins.py` runs the whole matrix and writes its counts down.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from drop_in_kernels import KERNELS

from kernelwright.evaluate.entrypoints.reference.symbolic import Reference
from kernelwright.export.model_new import wrap
from kernelwright.propose.author.author import Author
from kernelwright.propose.author.search.designs import DESIGNS
from kernelwright.propose.author.search.learn import Memo
from kernelwright.records.attempt import Attempt, Proposal
from kernelwright.records.candidate import Candidate
from kernelwright.tasks.table import read_task

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "tests" / "unit" / "propose" / "author"))
from author_cases import case  # noqa: E402

EXAMPLES = ["cross_entropy", "gelu_bias_residual", "layer_norm", "mse_loss", "rms_norm", "softmax"]
OWN = [
    "add_rms_norm", "gelu_tanh", "huber_loss", "kl_divergence", "log_softmax", "log_sum_exp", "row_variance",
    "scale_shift_clip", "swiglu",
]  # fmt: skip
FSR = [
    "categorical_cross_entropy", "dot_product", "layer_norm", "matrix_copy", "mean_square_error",
    "monte_carlo_integration", "reduction", "relu", "sigmoid",
]  # fmt: skip
MODULES = [
    "decayed_scan", "embedding_layer_norm", "focal_loss", "group_norm_silu", "rotary_positions", "rotary_scores",
]  # fmt: skip
PRODUCTS = ["attention", "conv_bn_relu", "expert_router", "int8_product", "swiglu_mlp", "transformer_layer"]
"""Modules that the author writes for a GPU alone."""
IN_CPP = [f"examples/{n}.py" for n in EXAMPLES] + [f"tasks/own/{n}.py" for n in OWN]
IN_CPP += [f"tasks/fsr/{n}.py" for n in FSR] + [f"tasks/modules/{n}.py" for n in MODULES]
IN_TRITON = [*IN_CPP, *(f"tasks/modules/{n}.py" for n in PRODUCTS)]
LANGUAGE = {"cpu": "cpp", "cuda": "triton"}
NO_COMPILER = {"CXX": "", "PATH": ""}


def small(name):
    """A task's text at its smallest size; of an example rows and columns that are quick."""
    if name.startswith("examples/"):
        return re.sub(r"(?m)^(\w+, \w+) = \d+, \d+$", r"\1 = 24, 96", (ROOT / name).read_text())
    return read_task(Path(f"{ROOT / name}@small")).source


def exported(text, folder, kind="cpu", source=None):
    """The task and its drop-in as files."""
    task = with_free_sizes(case(text, "task", kind))
    (folder / "task.py").write_text(text)
    text = wrap(task, Candidate(language="cpp", source=source, entry="kernel")) if source else by_author(task, kind)
    assert "class ModelNew(_Guarded, Model)" in text, "a drop-in without guards"
    (folder / "exported.py").write_text(text)


def by_hand(name, folder):
    """The same of a kernel that a person wrote."""
    exported(small(f"tasks/{name}"), folder, source=KERNELS[name])


def with_free_sizes(found):
    """The task with the sizes that its reference leaves free, as admission finds them."""
    given = (found.module, found.inputs, found.task.workload.inputs, found.task.graph, None)
    return found.task.model_copy(update={"free": Reference(*given).free_sizes()})


def by_author(task, kind):
    """The author's first kernel as a drop-in, with what is known of it at other sizes."""
    design = DESIGNS[LANGUAGE[kind]](task)
    chosen = next(design.write(design.default).points())
    memo = Memo(language=LANGUAGE[kind], schedule=design.default.model_dump(mode="json"))
    proposal = Proposal(candidate=chosen, memo=memo.model_dump_json())
    return wrap(task, chosen, Author().other_sizes(task, Attempt.model_construct(proposal=proposal)))


def judged(folder, *flags, **environment):
    """What became of each circumstance."""
    return dict(circumstances(folder, *flags, **environment))


def circumstances(folder, *flags, known=(), seconds=None, **environment):
    """Each circumstance that is not known, with what became of it, as soon as that is known.

    Where the process dies, the circumstance that it died of is wrong and the others go on. TimeoutError after `seconds`.
    """
    known, end = set(known), time.monotonic() + (seconds or float("inf"))
    while True:
        begun = None
        with _process(folder, *flags, "--known", json.dumps(sorted(known)), **environment) as child:
            for told in _lines(child, end):
                begun = told.pop("circumstance")
                if told:
                    known.add(begun)
                    yield begun, told
            code = child.wait()
        if code == 0:
            return
        if begun is None or begun in known:
            raise AssertionError((folder / "errors.txt").read_text()[-3000:])
        known.add(begun)
        yield begun, {"right": False, "kernel": 0, "ours": f"the process ended with {code}", "wanted": "an answer"}


def _process(folder, *flags, **environment):
    script = Path(__file__).with_name("drop_in_matrix.py")
    with (folder / "errors.txt").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, str(script), str(folder / "task.py"), str(folder / "exported.py"), *flags], cwd=folder,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment}, stdout=subprocess.PIPE,
            stderr=errors, text=True,
        )  # fmt: skip


def _lines(child, end):
    """What the process says of circumstances; it is killed where that takes beyond `end`."""
    late = threading.Event()
    seconds = min(end - time.monotonic(), threading.TIMEOUT_MAX)
    timer = threading.Timer(max(seconds, 0), lambda: (late.set(), child.kill()))
    timer.start()
    try:
        yield from (json.loads(line) for line in child.stdout if line.startswith('{"circumstance"'))
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError


def wrong(report):
    """The circumstances in which a drop-in did what its reference does not."""
    return {name: told for name, told in report.items() if not told["right"]}
