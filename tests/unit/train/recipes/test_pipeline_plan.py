"""Pipelines are read with every setting checked, and say what they wait for."""

import pytest

from kernelwright.errors import UsageError
from kernelwright.train.recipes.plan import model_of, names, read_pipeline
from kernelwright.train.recipes.run import plan
from kernelwright.train.recipes.stage import FUNCTIONS

RECIPE = """
about = "two stages"
[pairs]
kind = "unpack"
files = ["a"]
[base]
kind = "scratch"
data = "pairs"
[sft]
kind = "sft"
model = "base|kernelwright-small"
data = "pairs"
[longer]
like = "sft"
steps = 7
"""


@pytest.fixture
def recipe(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(RECIPE)
    return str(file)


@pytest.mark.parametrize("name", names())
def test_every_packaged_recipe_is_one_and_names_stages_that_come_before(name):
    stages = read_pipeline(name, {}).stages
    for place, (mine, stage) in enumerate(stages.items()):
        assert stage.kind in {*FUNCTIONS, "sft", "grpo", "judge"}
        others = {one.partition("/")[0] for named in (*stage.after, *stage.inputs) for one in named.split("|")}
        earlier = set(list(stages)[:place])
        assert others - {"kernelwright-small"} <= earlier, mine
        assert getattr(stage, "over", "") in {"", *earlier}


def test_settings_are_of_one_stage_or_of_all_that_have_it(recipe):
    stages = read_pipeline(recipe, {"seed": 3, "sft.batch": 4, "about": "mine"}).stages
    assert (stages["base"].seed, stages["sft"].seed, stages["longer"].seed) == (3, 3, 3)
    assert (stages["sft"].batch, stages["longer"].batch, stages["longer"].steps) == (4, 4, 7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sft.batch": 0}, "sft.batch: "),
        ({"sft.speed": 1, "base.size": 2}, r"base.size: .*sft.speed: "),
        ({"grpo.steps": 1}, "--set grpo.steps: the recipe has the stages pairs, base, sft, longer"),
        ({"turns": 1}, "none of that setting"),
        ({"longer.like": "shorter"}, "'longer' is like 'shorter', which the recipe has not"),
    ],
)
def test_what_is_wrong_is_named(recipe, settings, words):
    with pytest.raises(UsageError, match=words):
        read_pipeline(recipe, settings)


def test_a_recipe_that_is_none_names_those_that_are():
    with pytest.raises(UsageError, match=r"'nope' is none of caches, forms, gpus, midend, pairs, small, tiny"):
        read_pipeline("nope", {})


def test_a_stage_waits_for_what_it_reads_and_one_of_its_models_will_do(recipe, tmp_path):
    pipeline = read_pipeline(recipe, {"sft.model": "longer|base", "longer.after": ["base"], "longer.model": "base"})
    assert [one.state for one in plan(tmp_path, pipeline)] == [
        "next", "waits for pairs", "waits for longer|base, pairs", "waits for base, pairs",
    ]  # fmt: skip
    for name in ("pairs", "base"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "figures.json").write_text("{}" if name == "base" else '{"samples": 2}')
    assert plan(tmp_path, pipeline)[0].state == "done"
    (tmp_path / "base" / "figures.json").write_text('{"texts": 2}')
    assert [one.state for one in plan(tmp_path, pipeline, ["sft"])] == ["done", "done", "next", "not asked for"]
    with pytest.raises(UsageError, match="no stage 'grpo': there are pairs, base, sft, longer"):
        plan(tmp_path, pipeline, ["grpo"])


def test_a_model_is_a_stage_s_a_folder_or_the_packaged_one(tmp_path, monkeypatch):
    for place in (tmp_path / "sft" / "model", tmp_path / "mine"):
        place.mkdir(parents=True)
        (place / "config.json").write_text("{}")
    monkeypatch.setenv("KERNELWRIGHT_SMALL", str(tmp_path / "mine"))
    assert model_of(tmp_path, "grpo|sft") == str(tmp_path / "sft" / "model")
    assert model_of(tmp_path, str(tmp_path / "mine")) == str(tmp_path / "mine")
    assert model_of(tmp_path, "grpo|kernelwright-small") == str(tmp_path / "mine")
    with pytest.raises(UsageError, match="'grpo': neither a stage of"):
        model_of(tmp_path, "grpo")
