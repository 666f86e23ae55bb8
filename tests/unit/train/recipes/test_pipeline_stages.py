"""What stages choose, draw and measure."""

import asyncio
import math
import random
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from kernelwright.records.candidate import Candidate
from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.train.data.kernels import elements_each, retuned_source
from kernelwright.train.data.modules import random_module
from kernelwright.train.data.sample import Judged, Sample
from kernelwright.train.engine.decoding import token_counts
from kernelwright.train.engine.network import make_small
from kernelwright.train.judges import Judges
from kernelwright.train.recipes import frontend, midend
from kernelwright.train.recipes.plan import Practice

MODULE = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.relu(x) * y


def get_inputs():
    return [torch.randn(8, 32), torch.randn(8, 32)]
"""


def test_hacks_are_modules_that_take_the_task_s_arguments():
    for text in frontend.hacks(MODULE):
        compile(text, "hack", "exec")
        assert "def forward(self, x, y):" in text
        assert "get_inputs" not in text


def test_sizes_and_warps_are_drawn_as_powers_of_two_and_nothing_else_changes():
    source = "# tunable WARPS: 4 8\nWARPS = 4\nROWS = 8\nEVICTION = tl.constexpr('evict_last')\nx = ROWS + 1\n"
    found = {retuned_source(source, random.Random(seed)) for seed in range(40)}
    assert len(found) > 10
    for text in found:
        head, warps, rows, *rest = text.splitlines()
        assert (head, rest) == ("# tunable WARPS: 4 8", ["EVICTION = tl.constexpr('evict_last')", "x = ROWS + 1"])
        assert int(warps.removeprefix("WARPS = ")) in {1, 2, 4, 8, 16}
        assert int(rows.removeprefix("ROWS = ")) in {1, 2, 4, 8, 16, 32, 64}


def test_no_thread_is_drawn_more_of_a_tile_than_compiles_in_seconds():
    source = "WARPS = 1\nROWS = 8\n"
    found = {retuned_source(source, random.Random(seed), columns=2048) for seed in range(60)}
    assert max(elements_each(text, 2048) for text in found) == 64
    assert max(elements_each(retuned_source(source, random.Random(seed)), 2048) for seed in range(60)) > 64
    assert elements_each("WARPS = 2\nBLOCK = 4096\n", 0) == 64


def test_a_measure_keeps_what_is_judged_when_its_time_is_over():
    judges, kernel = Judges(lambda _: ScriptedEvaluator(delay_s=0.05)), sample_attempt(0).proposal.candidate

    async def asked(end_s):
        timely = midend.Timely(judges, time.monotonic() + end_s, lambda text: None)
        return await timely.judge(sample_task(), kernel), timely.late

    async def both():
        try:
            return [await asked(end_s) for end_s in (60.0, 0.0)], await asked(60.0)
        finally:
            await judges.close()

    ((found, late), (nothing, missed)), (again, _) = asyncio.run(both())
    assert (late, nothing, missed) == (0, None, 1)
    assert found == again


def test_grpo_looks_at_a_module_in_several_forms_and_at_some_as_they_were_taught():
    kernel = Candidate(language="triton", source="pass")
    known = {"origin": "author", "candidate": kernel, "judged": Judged(outcome="verified"), "structure": "s"}
    tasks = [sample_task().model_copy(update={"source": random_module(number, depth=6)}) for number in range(3)]
    samples = [Sample(task=task, depth=6 if number else 2, **known) for number, task in enumerate(tasks)]
    stage = Practice(model="m", data="d", candidates=60, restyle=True)
    texts = [one.task.source.source for one in frontend.looked_at(samples, stage)]
    taught = [one.task.source.source for one in samples]
    assert len(texts) == 60
    assert len(set(texts)) > 30
    assert 3 <= sum(text in taught for text in texts) <= 20
    assert taught[0] not in texts  # what is not deep is nearly always right as it was taught
    plain = frontend.looked_at(samples, stage.model_copy(update={"restyle": False}))
    assert {one.task.source.source for one in plain} == set(taught[1:])


def test_grpo_practises_on_what_the_policy_is_unsure_of_and_leaves_long_kernels_out(monkeypatch):
    chances, sizes = {"a": 0.001, "b": 0.3, "c": 0.9, "d": 0.3}, {"d": 100}
    monkeypatch.setattr(frontend, "token_counts", lambda model, samples: [sizes.get(one.family, 1) for one in samples])
    monkeypatch.setattr(
        frontend, "likelihoods", lambda model, samples, variant: [math.log(chances[one.family]) for one in samples]
    )
    monkeypatch.setattr(frontend, "unseen", lambda samples, first=None: [])
    monkeypatch.setattr(frontend, "looked_at", lambda free, stage: [SimpleNamespace(family=name) for name in chances])
    kept = []
    work = SimpleNamespace(samples=lambda _: [], model=str, figures=lambda _: {}, keep=kept.extend)
    found = frontend.practice(Practice(model="m", data="d", max_new_tokens=100), work)
    assert [one.family for one in kept] == ["b"]
    assert (found["looked_at"], found["unsure"]) == (3, 1)


def test_tokens_are_counted_by_the_model_s_own_tokenizer(tmp_path):
    make_small(tmp_path, [MODULE] * 4, "1M", 300, 0)
    samples = [SimpleNamespace(candidate=SimpleNamespace(source=MODULE * n)) for n in (40, 1)]
    long, brief = token_counts(str(tmp_path), samples)
    assert long == 40 * brief


@pytest.mark.matrix
def test_bulk_pairs_leave_a_file_and_a_place_in_the_seeds_and_nothing_else(tmp_path, monkeypatch):
    place, elsewhere = tmp_path / "wide", tmp_path / "tmp"
    place.mkdir()
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "from pathlib import Path; from types import SimpleNamespace\n"
        "from kernelwright.train.recipes.pairs import pairs; from kernelwright.train.recipes.plan import Pairs\n"
        "if __name__ == '__main__':\n"
        "    work = SimpleNamespace(place=Path(sys.argv[1]), left=1e9, say=print)\n"
        "    print(pairs(Pairs(wide=True, count=2, first=3), work))\n"
    )
    program = tmp_path / "program.py"
    program.write_text(code)
    done = subprocess.run([sys.executable, program, place], capture_output=True, text=True, check=True)
    assert "'pairs': 2" in done.stdout
    assert sorted(one.name for one in place.iterdir()) == ["samples.jsonl", "seeds.json"]
    assert [one.name for one in elsewhere.iterdir() if not one.name.startswith("torchinductor")] == []
