"""`kernelwright train`: flags make requests and recipes, and what comes back is told in words and as JSON."""

import json

import pytest

from kernelwright import api
from kernelwright.train.data.decontaminate import Decontamination
from kernelwright.train.data.making import DataReport, Revalidation
from kernelwright.train.recipe import Progress
from kernelwright.train.recipes.run import StageEvent
from kernelwright.train.session import Trained


def test_data_is_made_and_told(kernelwright, monkeypatch, tmp_path):
    asked = []

    def make(request, suppliers, heard):
        asked.append(request)
        return DataReport(folder="set", samples=5, added=2, fates={"incorrect": 1})

    monkeypatch.setattr(api, "make_data", make)
    said = kernelwright(
        "train", "data", tmp_path, "--from", "author", "--count", "5", "--effort", "verify", "--workers", "3"
    )
    assert "5 samples" in said.out
    assert (asked[0].count, asked[0].effort, asked[0].workers, asked[0].sources) == (5, "verify", 3, ("author",))
    assert json.loads(kernelwright("train", "data", tmp_path, "--json").out)["fates"] == {"incorrect": 1}


def test_what_is_made_and_dropped_in_one_call_is_one_document(kernelwright, monkeypatch, tmp_path):
    monkeypatch.setattr(api, "make_data", lambda *_: DataReport(folder="set", samples=5, added=2, fates={}))
    dropped = Decontamination(samples=5, tasks=1, unread={}, dropped=(), nearest={"0.1": 5})
    monkeypatch.setattr(api, "decontaminate", lambda *_: dropped)
    both = ("train", "data", tmp_path, "--from", "author", "--decontaminate", tmp_path)
    told = json.loads(kernelwright(*both, "--json").out)
    assert told["made"]["added"] == 2
    assert told["decontaminated"]["nearest"] == {"0.1": 5}
    assert "0 of 5 samples dropped" in kernelwright(*both).out
    alone = kernelwright("train", "data", tmp_path, "--decontaminate", tmp_path, "--json").out
    assert json.loads(alone)["tasks"] == 1


def test_what_an_upgrade_broke_is_told_as_a_share(kernelwright, monkeypatch, tmp_path):
    found = Revalidation(samples=10, right=7, repaired=1, dropped={"build_failed": 2}, unjudged=0)
    monkeypatch.setattr(api, "revalidate_data", lambda request, suppliers, heard: found)
    said = kernelwright("train", "data", tmp_path, "--revalidate")
    assert "7 right, 1 repaired, 2 dropped" in said.out
    assert "30.0%" in said.out


def test_a_recipe_comes_from_flags_over_its_file(kernelwright, monkeypatch, tmp_path):
    asked = []

    def train(recipe, folder, suppliers, heard):
        asked.append(recipe)
        step = Progress(step=1, of=2, seconds=3.0, figures={"reward": 0.5})
        heard(step)
        return Trained(folder, folder / "model", folder / "report.html", step)

    monkeypatch.setattr(api, "train", train)
    file = tmp_path / "recipe.toml"
    file.write_text('reward = "kevin"\nsteps = 3\n')
    flags = ("--model", "m", "--data", "d", "--set", "turns=2", "--set", "credit=kevin", "--target", "cpu")
    said = kernelwright("train", "grpo", tmp_path / "run", "--recipe", file, *flags)
    assert "--model hf:" in said.out
    assert (asked[0].kind, asked[0].reward, asked[0].turns, asked[0].credit) == ("grpo", "kevin", 2, "kevin")
    told = json.loads(kernelwright("train", "sft", tmp_path / "run", *flags[:4], "--json").out)
    assert told["last"]["figures"] == {"reward": 0.5}


def test_a_pipeline_shows_its_plan_first_and_then_what_became_of_each_stage(kernelwright, monkeypatch, tmp_path):
    asked = []

    def run(pipeline, folder, suppliers, heard, only, seconds):
        asked.append((pipeline, only, seconds))
        for over, words in ((False, "step 3 of 7"), (True, "done")):
            heard(StageEvent(stage="sft", place=5, of=16, words=words, over=over))
        (tmp_path / "figures.json").write_text('{"device": "x"}')
        return tmp_path / "figures.json"

    monkeypatch.setattr(api, "run_pipeline", run)
    flags = ("--only", "sft", "--only", "grpo", "--set", "grpo.steps=5", "--set", "seed=2", "--workers", "3")
    said = kernelwright("train", "pipeline", tmp_path, "--recipe", "small", "--seconds", "90", *flags)
    pipeline, only, seconds = asked[0]
    assert (only, seconds) == (("sft", "grpo"), 90.0)
    assert (pipeline.stages["grpo"].steps, pipeline.stages["sft"].seed, pipeline.stages["cheats"].workers) == (5, 2, 3)
    assert said.err.index("not asked for") < said.err.index("sft (5 of 16): done")
    assert said.out.strip().endswith("figures.json")
    assert json.loads(kernelwright("train", "pipeline", tmp_path, "--recipe", "small", "--json").out) == {"device": "x"}
    shown = kernelwright("train", "pipeline", tmp_path, "--recipe", "small", "--plan")
    assert "waits for base, pairs" in shown.out
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("sft", "f"), "model: Field required"),
        (("sft", "f", "--set", "steps"), "must be NAME=VALUE"),
        (("grpo", "f", "--model", "m", "--data", "d", "--set", "turns=0"), "turns: "),
        (("pipeline", "f"), "none of caches, forms"),
        (("pipeline", "f", "--recipe", "small", "--only", "sfd"), "no stage 'sfd': there are pairs"),
    ],
)
def test_what_cannot_be_a_recipe_is_refused(kernelwright, flags, words):
    said = kernelwright("train", *flags)
    assert said.code == 2
    assert words in said.err
