"""What a call must not lose: figures are whole after every stage, failures are counted, weights come back as they went."""

import asyncio
import json
import math
import os
import random
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from train_midend import elements_each, raw_gain, retuned, spread, ungated_gain
from train_small_kit import (
    PAGES,
    Book,
    descendants,
    ended,
    export,
    failed,
    gained,
    hacks,
    keep_pages,
    restore,
    short,
    waited,
)

from kernelwright.records.candidate import Candidate
from kernelwright.testing.samples import sample_attempt, sample_evaluation, sample_measured, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import Judged, Sample
from kernelwright.train.engine.small import make_small
from kernelwright.train.judges import Judges
from kernelwright.train.recipe import Progress

MODULE = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.relu(x) * y


def get_inputs():
    return [torch.randn(8, 32), torch.randn(8, 32)]
"""


def test_figures_are_in_both_places_after_every_change(tmp_path):
    book = Book(tmp_path / "out", tmp_path / "work", "train-small-x.json")
    book.put(before={"rate": 0.5})
    book.put(after={"rate": 0.75})
    again = Book(tmp_path / "other", tmp_path / "work", "train-small-x.json")
    assert again.document == {"before": {"rate": 0.5}, "after": {"rate": 0.75}}
    assert json.loads((tmp_path / "out" / "train-small-x.json").read_text()) == again.document


def test_a_failure_is_charged_to_the_stage_that_was_running(tmp_path):
    assert failed(tmp_path, tmp_path, "train-small") == "start"
    book = Book(tmp_path / "out", tmp_path, "train-small-x.json")
    book.put(running="grpo", done=["sft"])
    assert [failed(tmp_path, tmp_path / "out", "train-small") for _ in range(2)] == ["grpo", "grpo"]
    again = Book(tmp_path / "out", tmp_path, "train-small-x.json").document
    assert again == {"running": "grpo", "done": ["sft"], "failures": {"grpo": 2}}


ASLEEP = "import time; time.sleep(60)"
PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{child.pid}\\n")
time.sleep(60)
"""


def test_a_process_that_outlasts_its_time_is_ended():
    child = subprocess.Popen([sys.executable, "-c", ASLEEP], start_new_session=True)
    assert ended(child, 0.1) == -15


@pytest.mark.parametrize(("does", "status"), [("SIG_DFL", -15), ("SIG_IGN", -9)])
def test_what_it_started_in_a_session_of_its_own_ends_with_it(tmp_path, monkeypatch, does, status):
    monkeypatch.setattr("train_small_kit.STOP_S", 0.2)
    told = tmp_path / "pid"
    child = subprocess.Popen([sys.executable, "-c", PARENT, str(told), does], start_new_session=True)
    while not (told.exists() and told.read_text().endswith("\n")):
        assert child.poll() is None
        time.sleep(0.01)
    assert int(told.read_text()) in descendants([os.getpid()])
    assert ended(child, 0.0) == status
    assert not {int(told.read_text()), child.pid} & descendants([os.getpid(), 1]).keys()


def test_weights_come_back_in_parts_with_their_figures(tmp_path, monkeypatch):
    monkeypatch.setattr("train_small_kit.PART", 100_000)
    model = make_small(tmp_path / "grpo" / "model", ["x = tl.load(x_ptr)"] * 3, "1M", vocabulary=300)
    out, work = tmp_path / "out", tmp_path / "work"
    Book(out, tmp_path, "train-small-x.json").put(done=["sft", "grpo"])
    work.mkdir()
    monkeypatch.setattr("train_small_kit.MOST_PARTS", 1)
    with pytest.raises(ValueError, match="come back"):
        export(model, out, "grpo")
    monkeypatch.setattr("train_small_kit.MOST_PARTS", 5)
    export(model, out, "grpo")
    assert 1 < len(list(out.glob("model.part-*"))) <= 5
    assert restore(out, work) == "grpo"
    for place in ("grpo", "sft"):  # GRPO goes on from its weights
        assert (work / place / "model" / "tokenizer.json").read_bytes() == (model / "tokenizer.json").read_bytes()
    assert Book(out, work, "train-small-x.json").document["done"] == ["sft", "grpo"]


def test_pages_of_all_runs_are_one_file(tmp_path):
    (tmp_path / "work" / "sft").mkdir(parents=True)
    (tmp_path / "work" / "sft" / "report.html").write_text("curves")
    keep_pages(tmp_path / "work", tmp_path)
    with tarfile.open(tmp_path / PAGES) as tar:
        assert tar.getnames() == ["sft/report.html"]


def test_the_share_of_waiting_is_of_the_whole_step():
    figures = [
        {"waited seconds": 2.0, "step seconds": 8.0},
        {"step seconds": 3.0},
        {"waited seconds": 1.0, "step seconds": 4.0},
    ]
    assert waited([Progress(step=n, of=3, seconds=0.0, figures=f) for n, f in enumerate(figures)]) == 0.2
    assert waited([]) is None


def test_what_was_gained_is_told_where_both_were_measured():
    before = {"pass@1": {"rate": 0.25, "samples": 8}, "pass@8": {"rate": 0.5}, "tasks": {"a": 2, "b": 2, "c": 2}}
    after = {"pass@1": {"rate": 0.75, "samples": 8}, "tasks": {"a": 6, "b": 6, "d": 6}}
    assert gained(before, after) == {"pass@1": 0.5, "pass@1 interval": (0.5, 0.5)}
    others = after | {"tasks": {"a": 6, "d": 8}, "pass@1": {"rate": 0.875, "samples": 8}}
    assert gained(before, others)["pass@1"] == 0.5  # of "a" alone
    assert gained({}, before) == {}


def test_hacks_are_modules_that_take_the_task_s_arguments():
    for text in hacks(MODULE):
        compile(text, "hack", "exec")
        assert "def forward(self, x, y):" in text
        assert "get_inputs" not in text


def test_sizes_and_warps_are_drawn_as_powers_of_two_and_nothing_else_changes():
    source = "# tunable WARPS: 4 8\nWARPS = 4\nROWS = 8\nEVICTION = tl.constexpr('evict_last')\nx = ROWS + 1\n"
    found = {retuned(source, random.Random(seed)) for seed in range(40)}
    assert len(found) > 10
    for text in found:
        head, warps, rows, *rest = text.splitlines()
        assert (head, rest) == ("# tunable WARPS: 4 8", ["EVICTION = tl.constexpr('evict_last')", "x = ROWS + 1"])
        assert int(warps.removeprefix("WARPS = ")) in {1, 2, 4, 8, 16}
        assert int(rows.removeprefix("ROWS = ")) in {1, 2, 4, 8, 16, 32, 64}


def test_no_thread_is_drawn_more_of_a_tile_than_compiles_in_seconds():
    source = "WARPS = 1\nROWS = 8\n"
    found = {retuned(source, random.Random(seed), columns=2048) for seed in range(60)}
    assert max(elements_each(text, 2048) for text in found) == 64
    assert max(elements_each(retuned(source, random.Random(seed)), 2048) for seed in range(60)) > 64
    assert elements_each("WARPS = 2\nBLOCK = 4096\n", 0) == 64


def test_rewards_of_ablations_differ_where_they_should():
    parent, fast = sample_measured(), sample_measured()
    assert raw_gain(fast, parent, None) == pytest.approx(1.0)
    assert raw_gain(sample_evaluation("incorrect"), parent, None) == 0.0
    assert ungated_gain(sample_evaluation("incorrect"), parent, None) == 1.0
    assert ungated_gain(sample_evaluation("crashed"), parent, None) == 0.0


def test_a_measure_keeps_what_is_judged_when_its_time_is_over():
    import train_midend_stages  # noqa: PLC0415  loads torch

    judges, kernel = Judges(lambda _: ScriptedEvaluator(delay_s=0.05)), sample_attempt(0).proposal.candidate

    async def asked(end_s):
        timely = train_midend_stages.Timely(judges, time.monotonic() + end_s, lambda text: None)
        return await timely.judge(sample_task(), kernel), timely.late

    async def both():
        try:
            return [await asked(end_s) for end_s in (60.0, 0.0)], await asked(60.0)
        finally:
            await judges.close()

    ((found, late), (nothing, missed)), (again, _) = asyncio.run(both())
    assert (late, nothing, missed) == (0, None, 1)
    assert found == again


def test_gains_have_a_geometric_mean():
    assert spread([0.5, 2.0, 4.0]) == pytest.approx({"geomean": 4.0 ** (1 / 3), "least": 0.5, "most": 4.0})
    assert spread([]) == {}


def test_what_a_policy_scored_before_is_taken_from_the_same_kind_of_device_alone(tmp_path, monkeypatch):
    from train_small_stages import Bench  # noqa: PLC0415  loads torch

    known = {"device": "H100", "before": {"pass@1": {"rate": 0.8}}, "author": {"kernels": 46, "right": 46}, "runs": []}
    bench = Bench.__new__(Bench)
    bench.o = SimpleNamespace(interpret_measures=False)
    bench.book = Book(tmp_path / "out", tmp_path / "work", "train-small-x.json")
    bench.book.put(device="H100")
    bench.take(known)
    assert bench.done("before")
    assert bench.book.document["before"] == known["before"]
    bench.book = Book(tmp_path / "out", tmp_path / "other", "train-small-x.json")
    bench.book.put(device="H200")
    said = []
    monkeypatch.setattr(Bench, "say", lambda self, words: said.append(words))
    bench.take(known)
    assert not bench.done("before")
    assert said == ["what is known was measured on H100, and is left out: this is H200"]
    bench.o.interpret_measures = True
    bench.book.put(device="H100")
    bench.take(known)
    assert not bench.done("before")
    assert "in another way" in said[1]
    bench.book.put(device="H200")
    bench.take(known | {"before": {**known["before"], "interpreted": True}})
    assert bench.done("before")
    assert not bench.done("forms")
    bench.take(known | {"before": {**known["before"], "interpreted": True}, "forms": {"pass@1": {"rate": 0.1}}})
    assert bench.done("forms")


def test_grpo_looks_at_a_module_in_several_forms_and_at_some_as_they_were_taught():
    from train_small_stages import Bench  # noqa: PLC0415  loads torch

    kernel = Candidate(language="triton", source="pass")
    known = {"origin": "author", "candidate": kernel, "judged": Judged(outcome="verified"), "structure": "s"}
    tasks = [sample_task().model_copy(update={"source": random_module(number, depth=6)}) for number in range(3)]
    samples = [Sample(task=task, depth=6 if number else 2, **known) for number, task in enumerate(tasks)]
    bench = Bench.__new__(Bench)
    bench.o = SimpleNamespace(seed=0, candidates=60, restyle=True)
    texts = [one.task.source.source for one in bench.looked_at(samples)]
    taught = [one.task.source.source for one in samples]
    assert len(texts) == 60
    assert len(set(texts)) > 30
    assert 3 <= sum(text in taught for text in texts) <= 20
    assert taught[0] not in texts  # what is not deep is nearly always right as it was taught
    bench.o.restyle = False
    assert {one.task.source.source for one in bench.looked_at(samples)} == set(taught[1:])


@pytest.mark.parametrize("demonstrate", [False, True])
def test_grpo_practises_on_what_the_policy_is_unsure_of(monkeypatch, demonstrate):
    from train_small_stages import Bench, kit  # noqa: PLC0415  loads torch

    known = {"a": 0.001, "b": 0.3, "c": 0.9}
    monkeypatch.setattr(kit, "short", lambda model, samples, longest: samples)
    monkeypatch.setattr(kit, "likelihoods", lambda model, samples: [math.log(known[one.family]) for one in samples])
    bench = Bench.__new__(Bench)
    bench.o = SimpleNamespace(max_new_tokens=1, grpo_tasks=9, demonstrate=demonstrate)
    bench.book = SimpleNamespace(put=lambda **_: None)
    bench.unseen = lambda any_file: []
    bench.looked_at = lambda free: [SimpleNamespace(family=name) for name in known]
    assert [one.family for one in bench.practice(Path())] == ["b"]


def test_modules_whose_kernel_is_nearly_too_long_are_left_out(tmp_path):
    make_small(tmp_path, [MODULE] * 4, "1M", 300, 0)
    long, brief = (SimpleNamespace(candidate=SimpleNamespace(source=MODULE * n)) for n in (40, 1))
    assert short(tmp_path, [long, brief], 400) == [brief]
    assert short(tmp_path, [long], 400) == [long]  # better than none
