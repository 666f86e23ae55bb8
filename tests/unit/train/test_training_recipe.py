"""Recipes: from TOML and flags, refused with every fault named; the page of a run; rows for a judge."""

from pathlib import Path

import pytest

from kernelwright.errors import StoreError, UsageError
from kernelwright.records.candidate import Candidate
from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.train.data.prompts import changes, judge_rows
from kernelwright.train.data.sample import Judged, sample
from kernelwright.train.recipe import Grpo, Progress, Rollout, keep_recipe, read_recipe
from kernelwright.train.session import render

RECIPES_SHOWN = Path(__file__).parents[3] / "examples" / "recipes"

GIVEN = {"kind": "grpo", "model": "m", "data": "d"}


def test_flags_stand_over_the_file(tmp_path):
    file = tmp_path / "recipe.toml"
    file.write_text('kind = "grpo"\nmodel = "m"\ndata = "d"\nsteps = 7\nturns = 2\n')
    found = read_recipe(file, {"steps": 9})
    assert isinstance(found, Grpo)
    assert (found.steps, found.turns, found.clip_high) == (9, 2, 0.28)


def test_every_fault_is_named():
    with pytest.raises(UsageError, match=r"steps: .*; colour: "):
        read_recipe(None, {**GIVEN, "steps": 0, "colour": "red"})


def test_another_run_s_recipe_is_one(tmp_path):
    kept = read_recipe(None, GIVEN)
    keep_recipe(tmp_path, kept)
    assert read_recipe(tmp_path / "recipe.json", {}) == kept
    assert read_recipe(tmp_path / "recipe.json", {"seed": 7}) == kept.model_copy(update={"seed": 7})
    (tmp_path / "recipe.json").write_text("steps = 3")
    with pytest.raises(UsageError, match="no TOML or JSON file"):
        read_recipe(tmp_path / "recipe.json", {})


def test_a_longer_run_of_the_same_recipe_goes_on_and_another_does_not(tmp_path):
    keep_recipe(tmp_path, read_recipe(None, {**GIVEN, "steps": 1}))
    keep_recipe(tmp_path, read_recipe(None, {**GIVEN, "steps": 5, "seconds": 9.0, "save_every": 2}))
    with pytest.raises(StoreError, match=r"another recipe: .* There it has seed = 0$"):
        keep_recipe(tmp_path, read_recipe(None, {**GIVEN, "seed": 1}))


def test_the_page_draws_what_there_is_and_escapes_what_a_model_wrote():
    progress = [Progress(step=n, of=3, seconds=1.0, figures={"reward": n / 3, "right": 0.5}) for n in (1, 2, 3)]
    rollout = Rollout(
        step=3, task="<b>task</b>", turn=0, reward=None, outcome="refused", reply="<script>alert(1)</script>"
    )
    page = render("run", '{"kind": "grpo"}', progress, [rollout])
    assert page.count("<svg") == 2
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "reward unknown" in page
    assert "No step yet" in render("run", "{}", [], [])


def test_a_judge_learns_from_plans_that_led_to_a_gain():
    parent = sample_attempt(0, "measured", 1.0)
    parent = parent.model_copy(
        update={
            "proposal": parent.proposal.model_copy(
                update={"candidate": Candidate(language="cpp", source="WARPS = 4\n", entry="kernel")}
            )
        }
    )
    child = Candidate(language="cpp", source="WARPS = 8\n", entry="kernel")
    made = [
        sample("run", sample_task(), child, Judged(outcome="measured", eager=eager), parent) for eager in (2.0, 1.01)
    ]
    ((prompt, reply),) = judge_rows(made, 1.05)
    assert "Name the one bottleneck" in prompt[1].text
    assert "set WARPS to 8 instead of 4" in reply
    assert changes("A = 1\n", "A = 1\n") == ""


@pytest.mark.parametrize("file", sorted(RECIPES_SHOWN.glob("*.toml")), ids=lambda file: file.stem)
def test_the_recipes_in_the_examples_can_be_read(file):
    read = read_recipe(file, {"model": "m", "data": "d"})
    assert f'kind = "{read.kind}"' in file.read_text()
