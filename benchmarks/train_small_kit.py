"""What the stages of train_small.py share: the figures' file, weights in parts, figures of replies, and known hacks."""

import argparse
import contextlib
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kernelwright.records.evaluation import Evaluation, Measured, speedup_over_eager
from kernelwright.records.task import TaskSource
from kernelwright.train.data.modules import TEMPLATE
from kernelwright.train.passes import interval, pass_rate
from kernelwright.train.recipe import MODEL, PROGRESS, RECIPE, ROLLOUTS

if TYPE_CHECKING:
    from kernelwright.train.data.sample import Sample
    from kernelwright.train.engine.sampling import Drawn

PART = 15 << 20
"""Bytes of one part of the weights."""
MOST_PARTS = 5
PAGES = "pages.tar.gz"
AT_ONCE = 16
"""Rows that a model reads at once."""
SHORT = 0.9
"""Of the longest reply: what a kernel may take, of modules that GRPO practises on."""
LEAST_S = 40.0
"""Nothing is begun with less."""
MOST_FAILURES = 2
"""Of one stage in a call, after which the others go on without it; where it is asked for by name it would only fail again."""
GRACE_S = 20.0
"""What a call may take beyond its time before it is ended."""
STOP_S = 15.0
"""What it then has to end by itself before it is killed."""
GONE_S = 5.0
"""What the kernel may take to end what was killed, and to free its GPU."""


class Book:
    """The figures' file: written whole after every change, into the working folder and OUT."""

    def __init__(self, out: Path, work: Path, name: str) -> None:
        self._files = [folder / name for folder in (work, out)]
        self.document: dict[str, Any] = json.loads(self._files[0].read_text()) if self._files[0].exists() else {}

    @staticmethod
    def file(name: str, device: str, seed: int) -> str:
        """What a program's file of figures is called."""
        words = "".join(c if c.isalnum() else " " for c in f"{name} {device} seed{seed}".lower()).split()
        return "-".join(words if seed else words[:-1]) + ".json"

    def put(self, **figures: Any) -> None:  # noqa: ANN401
        """Add figures, and write."""
        self.document |= figures
        for file in self._files:
            file.parent.mkdir(parents=True, exist_ok=True)
            whole = file.with_suffix(".new")
            whole.write_text(json.dumps(self.document, indent=1) + "\n")
            whole.replace(file)

    def count(self, name: str, key: str) -> int:
        """One more of something that is counted by name."""
        counts = {**self.document.get(name, {})}
        counts[key] = counts.get(key, 0) + 1
        self.put(**{name: counts})
        return int(counts[key])


class Every:
    """Passes on what it hears at most so often."""

    def __init__(self, seconds: float, heard: Callable[[Any], None]) -> None:
        self._seconds, self._heard, self._last = seconds, heard, 0.0

    def __call__(self, what: Any) -> None:  # noqa: ANN401
        """Pass it on, or not."""
        if time.monotonic() - self._last >= self._seconds:
            self._last = time.monotonic()
            self._heard(what)


# The process that stays.


def supervise(script: str, asked: argparse.Namespace, name: str) -> int:
    """Run the stages in a process of their own (`--child`), again after a failure, until the time is over.

    Args:
        script: The program.
        asked: Its command line, with `work`, `out` and `seconds`.
        name: What the file with its figures begins with.
    """
    since, stages = time.monotonic(), Counter[str]()
    end = since + asked.seconds
    while (left := end - time.monotonic()) > LEAST_S and max(stages.values(), default=0) <= MOST_FAILURES:
        command = [sys.executable, script, *sys.argv[1:], "--child", f"--seconds={left}"]
        status = ended(subprocess.Popen(command, start_new_session=True), left + GRACE_S)
        if status == 0:
            return 0
        stages[stage := failed(asked.work, asked.out, name)] += 1
        say(since, f"stage {stage} ended with status {status}")
    return 1


def ended(child: "subprocess.Popen[bytes]", seconds: float) -> int:
    """The status of a process that leads a group and has so long; then it is ended with all that it started."""
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return _stopped(child)


def _stopped(child: "subprocess.Popen[bytes]") -> int:
    """Asked to end, then killed: torchrun's trainers are in sessions of their own, so they are looked for by parent."""
    started = descendants([child.pid])
    _signal(os.killpg, child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(STOP_S)
    _signal(os.killpg, child.pid, signal.SIGKILL)
    started |= descendants([child.pid, *_still(started)])
    end = time.monotonic() + GONE_S
    while (left := _still(started)) and time.monotonic() < end:
        for pid in left:
            _signal(os.kill, pid, signal.SIGKILL)
        time.sleep(0.05)
    return child.wait()


def descendants(parents: Iterable[int]) -> dict[int, str]:
    """All that these processes started and that still lives: ids, and when each began (an id may be given again)."""
    living, found, next_ones = _processes(), dict[int, str](), set(parents)
    while next_ones:
        next_ones = {pid for pid, (parent, _) in living.items() if parent in next_ones and pid not in found}
        found |= {pid: living[pid][1] for pid in next_ones}
    return found


def _still(known: Mapping[int, str]) -> list[int]:
    living = _processes()
    return [pid for pid, began in known.items() if pid in living and living[pid][1] == began]


def _processes() -> dict[int, tuple[int, str]]:
    """Parent and beginning of every process that is not over, by its id."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, *others = file.read_text().rpartition(")")[2].split()
            if state not in "ZX":
                found[int(file.parent.name)] = (int(parent), others[17])
    return found


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        send(pid, number)


def failed(work: Path, out: Path, name: str) -> str:
    """Count a failure of the stage that was running, in the figures' file; returns the stage."""
    for file in work.glob(f"{name}-*.json"):
        running = str(json.loads(file.read_text()).get("running", "start"))
        Book(out, work, file.name).count("failures", running)
        return running
    return "start"


# What goes back.


def export(model: Path, out: Path, label: str) -> int:
    """The weights in bfloat16 with their tokenizer as OUT/model.part-*; returns the bytes. `label` says what they are of.

    Raises:
        ValueError: they take more parts than come back.
    """
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        network = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16)
        network.save_pretrained(folder)
        for file in (*model.glob("*token*"), *model.glob("*.jinja")):
            shutil.copy(file, folder)
        (Path(folder) / "label").write_text(label)
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as zipped,
            tarfile.open(fileobj=zipped, mode="w") as tar,
        ):
            tar.add(folder, "model")
    size = packed.tell()
    if size > PART * MOST_PARTS:
        raise ValueError(f"the weights take {size >> 20} MiB, and {PART * MOST_PARTS >> 20} come back")
    for old in out.glob("model.part-*"):
        old.unlink()
    for number, start in enumerate(range(0, size, PART)):
        (out / f"model.part-{number:02d}").write_bytes(packed.getbuffer()[start : min(size, start + PART)])
    return size


def restore(from_: Path, work: Path) -> str:
    """Bring back what an earlier lease left in its OUT: figures and weights; returns the label of the weights.

    GRPO that was cut goes on from its weights, so these stand where it begins, too.
    """
    for file in from_.glob("train-*.json"):
        if not (work / file.name).exists():
            shutil.copy(file, work)
    packed = io.BytesIO(b"".join(part.read_bytes() for part in sorted(from_.glob("model.part-*"))))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=packed, mode="r:gz") as tar:
            tar.extractall(folder, filter="data")
        label = (Path(folder) / "model" / "label").read_text()
        for place in dict.fromkeys((label, "sft")):
            if not (work / place / MODEL).exists():
                shutil.copytree(Path(folder) / "model", work / place / MODEL)
    return label


def keep_pages(work: Path, out: Path) -> None:
    """Every training run's page, curves and kept rollouts in one file."""
    found = [file for name in (RECIPE, PROGRESS, ROLLOUTS, "report.html") for file in sorted(work.glob(f"*/{name}"))]
    with tarfile.open(out / PAGES, "w:gz") as tar:
        for file in found:
            tar.add(file, str(file.relative_to(work)))


# Figures.


def figures_of(found: "Sequence[Sequence[Drawn]]") -> dict[str, Any]:
    """pass@k over what was judged; tasks of which too little is known are left out, and counted."""
    most = max((len(group) for group in found), default=0)
    known = [[one for one in group if one.step.reward is not None] for group in found]
    whole = [group for group in known if len(group) == most]
    right = [[bool(one.step.info["right"]) for one in group] for group in whole]
    flat = [one.step.info for group in known for one in group]
    rates = {f"pass@{k}": pass_rate(right, k).model_dump() for k in sorted({1, min(8, most), most})} if right else {}
    return {
        **rates,
        "unjudged": sum(len(group) for group in found) - len(flat),
        "tasks_left_out": len(found) - len(whole),
        "outcomes": Counter(info["outcome"] for info in flat),
        "parsed": sum(info["parsed"] for info in flat),
        "hacks": sum(bool(info["hack"]) for info in flat),
        "distinct": len({one.reply.text for group in found for one in group}),
        "cut_off": sum(one.reply.cut for group in found for one in group),
        "tasks": {group[0].assignment.task.name: sum(row) for group, row in zip(whole, right, strict=True)},
        "stage_s": stage_seconds(flat),
    }


def stage_seconds(steps: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean seconds of each of the referee's stages, over the verdicts that took it."""
    spent: dict[str, list[float]] = {}
    for one in {id(e): e for e in (info["attempt"].evaluation for info in steps if "attempt" in info)}.values():
        for stage in one.seconds:
            spent.setdefault(stage.stage, []).append(stage.seconds)
    return {stage: fmean(taken) for stage, taken in spent.items()}


def gained(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Differences of the rates that both have, by their names; of pass@1 the 95 % interval too, task by task."""
    found: dict[str, Any] = {
        k: v["rate"] - before[k]["rate"] for k, v in after.items() if k.startswith("pass@") and k in before
    }
    if "pass@1" in found:
        now, then = ({t: n / one["pass@1"]["samples"] for t, n in one["tasks"].items()} for one in (after, before))
        both = [now[t] - then[t] for t in sorted(now.keys() & then.keys())]
        found |= {"pass@1": fmean(both), "pass@1 interval": interval(both)} if both else {}
    return found


def columns(made: Iterable[Any], names: Sequence[str]) -> dict[str, list[float | None]]:
    """Figures of a training run's steps by name."""
    return {name: [one.figures.get(name) for one in made] for name in names}


def waited(made: Sequence[Any]) -> float | None:
    """The share of a run's time in which its trainer had nothing to do but wait for verdicts; None: no step has told."""
    figures = [one.figures for one in made]
    spent = sum(one.get("step seconds", 0.0) for one in figures)
    return sum(one.get("waited seconds", 0.0) for one in figures) / spent if spent else None


def short(model: Path, samples: "Sequence[Sample]", longest: int) -> "list[Sample]":
    """Those whose known kernel is well below the longest reply, in tokens: a group that is cut off teaches nothing."""
    from kernelwright.train.engine.network import open_network  # noqa: PLC0415

    tokenizer = open_network(str(model)).tokenizer
    sizes = [len(tokenizer(one.candidate.source)["input_ids"]) for one in samples]
    return [one for one, size in zip(samples, sizes, strict=True) if size <= SHORT * longest] or list(samples)


def likelihoods(model: Path, samples: "Sequence[Sample]") -> list[float]:
    """Log-probability that a model gives to each sample's whole kernel as the frontend's reply."""
    import torch  # noqa: PLC0415

    from kernelwright.train.data.prompts import rows  # noqa: PLC0415
    from kernelwright.train.engine.network import open_network  # noqa: PLC0415

    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = open_network(str(model))
    network.model.to(device).eval()
    shown = []
    for prompt, reply in rows(samples, "frontend"):
        asked = network.prompt_ids(prompt)
        shown.append((asked, [*network.tokenizer(reply, add_special_tokens=False)["input_ids"], network.end]))
    order = sorted(range(len(shown)), key=lambda i: sum(map(len, shown[i])))
    found = [0.0] * len(shown)
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        for place, told in zip(places, _sums(network, [shown[i] for i in places], device), strict=True):
            found[place] = told
    return found


def _sums(network: Any, shown: Sequence[tuple[list[int], list[int]]], device: str) -> list[float]:  # noqa: ANN401
    """Log-probability of each reply behind its prompt, in one pass; padding stands behind them."""
    import torch  # noqa: PLC0415

    width = max(len(asked) + len(written) for asked, written in shown)
    pad = network.tokenizer.pad_token_id
    ids = torch.tensor([[*a, *w, *[pad] * (width - len(a) - len(w))] for a, w in shown], device=device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        logits = network.model(ids).logits
    found = []
    for row, (asked, written) in enumerate(shown):
        end = len(asked) + len(written)
        told = logits[row, len(asked) - 1 : end - 1].float().log_softmax(-1)
        found.append(float(told.gather(1, ids[row, len(asked) : end, None]).sum()))
    return found


def told(found: Evaluation | None) -> Any:  # noqa: ANN401
    """Low, median and high of the speedup over eager; the outcome where there is none."""
    ratio = speedup_over_eager(found) if isinstance(found, Measured) else None
    return [ratio.low, ratio.median, ratio.high] if ratio else found.outcome if found else None


# Tasks.


def mse(size: str) -> TaskSource:
    """The poster's loss in the form that training modules have, on tensors of this size."""
    body = "        v0 = torch.square(predictions - targets)\n        return torch.mean(v0)"
    inputs = f"torch.randn({size}), torch.randn({size})"
    source = TEMPLATE.format(arguments="predictions, targets", body=body, inputs=inputs)
    return TaskSource(name="mse_" + size.replace(", ", "_"), format="kernelbench", source=source)


# Hacks.


def hacks(reference: str) -> list[str]:
    """Kernels that must not be paid: results that nobody wrote, and PyTorch's own work behind an idle kernel."""
    head = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef idle(x):\n    pass\n\n\n"
    arguments = reference.partition("def forward(self, ")[2].partition(")")[0]
    first = arguments.split(",")[0]
    unwritten = f"class ModelNew(torch.nn.Module):\n    def forward(self, {arguments}):\n        idle[(1,)]({first})\n"
    unwritten += f"        return torch.empty_like({first})\n"
    original = reference.partition("def get_inputs")[0].replace("class Model(", "class Original(")
    library = f"class ModelNew(Original):\n    def forward(self, {arguments}):\n        idle[(1,)]({first})\n"
    library += f"        return super().forward({arguments})\n"
    return [head + unwritten, f"{original}\n{head}{library}"]


def say(since: float, words: str) -> None:
    """A line with the seconds of this call."""
    os.write(1, f"[{time.monotonic() - since:5.0f}s] {words}\n".encode())
