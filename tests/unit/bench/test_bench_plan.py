"""The plan of a bench: which cells, in which order, and whether it is still the same."""

import pytest

from kernelwright.bench import words
from kernelwright.bench.records import differences
from kernelwright.bench.request import BenchRequest, Total
from kernelwright.bench.suite import PLAN, load_or_write_plan, make_plan
from kernelwright.engine.config import load_config
from kernelwright.errors import StoreError, UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.search.strategy import StrategyConfig
from kernelwright.testing.samples import SOURCE

MODEL, OTHER = ModelConfig(name="one"), ModelConfig(name="two")
OPTIONS = {"name": "tritongym", "attempts": 7}


@pytest.fixture
def request_for(tmp_path):
    """A request for four tasks, two of which share a file name."""
    for name in ("a.py", "b.py", "x/c.py", "y/c.py"):
        file = tmp_path / "tasks" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SOURCE)

    def make(**more):
        fields = {"strategies": ("best_of_n", "tritongym"), "target": "cpu", **more}
        return BenchRequest(suite=tmp_path / "tasks", folder=tmp_path / "bench", **fields)

    return make


def test_cells_go_seed_by_seed_so_that_a_part_treats_all_alike(request_for):
    plan = make_plan(request_for(seeds=(0, 1))).plan
    names = [cell.name for cell in plan.cells()]
    assert len(names) == len(set(names)) == 4 * 2 * 2
    assert {cell.seed for cell in plan.cells()[:8]} == {0}
    assert names[0] == "a/best_of_n-author-tritongym-s0"


def test_files_of_one_name_are_told_apart(request_for):
    assert [task.name for task in make_plan(request_for()).plan.tasks] == ["a", "b", "x_c", "y_c"]


def test_a_variant_has_a_folder_of_its_own(request_for):
    plan = make_plan(request_for(proposers=("llm", "llm:terse"))).plan
    assert {arm.variant for arm in plan.arms} == {"", "terse"}
    assert all(":" not in cell.name for cell in plan.cells())


def test_a_strategy_is_named_with_its_variant(request_for):
    request = request_for(strategies=("tritongym", "tritongym:agent"), config=load_config(None, {"strategy": OPTIONS}))
    plan = make_plan(request).plan
    assert all(":" not in cell.name for cell in plan.cells())
    plain, agent = (plan.config_of(cell.arm, cell.seed).strategy for cell in plan.cells()[:2])
    assert (plain.workflow, agent.workflow) == ("refine", "agent")
    assert plain.attempts == agent.attempts == 7


def test_a_sample_is_the_same_each_time_and_stated(request_for):
    one, two = (make_plan(request_for(sample=2)).plan for _ in range(2))
    assert one == two
    assert (one.sampled.taken, one.sampled.of, len(one.tasks)) == (2, 4, 2)
    with pytest.raises(UsageError, match="from 1 to 4"):
        make_plan(request_for(sample=5))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"strategies": ("nonsense",)}, "'nonsense' must be one of .*best_of_n"),
        ({"strategies": ()}, "no strategy"),
        ({"strategies": ("tritongym:nonsense",)}, "strategy.workflow"),
        ({"rewards": ("nonsense",)}, "'nonsense' must be one of"),
        ({"seeds": (1, 1)}, "named twice"),
    ],
)
def test_flags_that_cannot_work_are_named(request_for, fields, said):
    with pytest.raises(UsageError, match=said):
        make_plan(request_for(**fields))


def test_several_rewards_are_refused_where_nothing_reads_one(request_for, monkeypatch):
    with pytest.raises(UsageError, match="best_of_n, tritongym read no reward"):
        make_plan(request_for(rewards=("tritongym", "log_speedup")))
    monkeypatch.setattr(StrategyConfig, "reads_reward", True)
    assert len(make_plan(request_for(rewards=("tritongym", "log_speedup"))).plan.arms) == 4
    monkeypatch.undo()
    learned = load_config(None, {"predictor": {}})
    assert len(make_plan(request_for(rewards=("tritongym", "log_speedup"), config=learned)).plan.arms) == 4


def test_models_are_compared_only_where_a_model_is_asked(request_for):
    model_sets = {"a/b:1": {"default": MODEL}, "c": {"default": MODEL, "judge": OTHER}}
    shared = load_config(None, {"models": {"coder": OTHER.model_dump()}})
    plan = make_plan(
        request_for(strategies=("fsr",), proposers=("author", "llm"), model_sets=model_sets, config=shared)
    ).plan
    assert [(arm.proposer, arm.model) for arm in plan.arms] == [("author", ""), ("llm", "a/b:1"), ("llm", "c")]
    assert [cell.name for cell in plan.cells()[1:3]] == ["a/fsr-llm-tritongym-a.b.1-s0", "a/fsr-llm-tritongym-c-s0"]
    assert plan.config_of(plan.arms[1], 0).models == {"default": MODEL, "coder": OTHER}
    assert plan.config_of(plan.arms[2], 0).models == {"default": MODEL, "judge": OTHER, "coder": OTHER}


def test_another_model_is_another_plan(request_for):
    one, two = (
        make_plan(request_for(proposers=("llm",), model_sets={"a": {"default": model}})).plan
        for model in (MODEL, OTHER)
    )
    (found,) = differences(one, two)
    assert (found.field, found.then, found.now) == ("models.a.default.name", "one", "two")


@pytest.mark.parametrize("budget", [{}, {"usd": 9.0}])
def test_a_total_needs_the_cap_of_a_cell(request_for, budget):
    request = request_for(total=Total(usd=2.0), config=load_config(None, {"budget": budget}))
    with pytest.raises(UsageError, match=r"--max-usd-total 2 needs --max-usd"):
        make_plan(request)


def test_search_figures_are_never_taken_over_from_another_cell(request_for):
    assert make_plan(request_for()).plan.config["cache"] is False


def test_a_plan_is_kept_and_held_against_the_flags(request_for, tmp_path):
    plan = make_plan(request_for()).plan
    assert load_or_write_plan(tmp_path, plan) == plan
    assert load_or_write_plan(tmp_path, plan) == plan
    other = make_plan(request_for(seeds=(0, 1), config=load_config(None, {"budget": {"proposals": 3}}))).plan
    with pytest.raises(UsageError, match=r"seeds was 0, is 0, 1; config.budget.proposals was 12, is 3"):
        load_or_write_plan(tmp_path, other)


def test_a_task_that_was_edited_is_another_plan(request_for, tmp_path):
    before = make_plan(request_for()).plan
    (tmp_path / "tasks" / "a.py").write_text(SOURCE + "# edited\n")
    (found,) = differences(before, make_plan(request_for()).plan)
    assert found.field == "tasks"
    assert found.then.startswith("a (")


def test_a_moved_directory_is_the_same_plan(request_for, tmp_path):
    before = make_plan(request_for()).plan
    (tmp_path / "tasks").rename(tmp_path / "moved")
    moved = BenchRequest(tmp_path / "moved", tmp_path, ("best_of_n", "tritongym"), target="cpu")
    assert differences(before, make_plan(moved).plan) == []


def test_a_file_that_is_no_plan_is_said_to_be_none(request_for, tmp_path):
    (tmp_path / PLAN).write_text("{}")
    with pytest.raises(StoreError, match="no plan that this version reads"):
        load_or_write_plan(tmp_path, make_plan(request_for()).plan)


def test_each_strategy_has_its_own_reward_unless_one_is_named(request_for):
    arms = make_plan(request_for(strategies=("regraph", "fsr", "frontend_midend"))).plan.arms
    assert {arm.strategy: arm.reward for arm in arms} == {
        "regraph": "regraph",
        "fsr": "tritongym",
        "frontend_midend": "frontend_midend",
    }
    assert [words.arm_name(arm, arms) for arm in arms] == ["regraph", "fsr", "frontend_midend"]
    named = make_plan(request_for(strategies=("regraph", "fsr"), rewards=("tritongym",))).plan.arms
    assert {arm.reward for arm in named} == {"tritongym"}
