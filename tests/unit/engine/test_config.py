"""The configuration: file below flags, every fault named, and read back from the card as it was."""

import pytest

from kernelwright.engine.config import (
    RunConfig,
    load_config,
    merge,
    with_task_defaults,
    with_time_limit,
    without_inductor,
)
from kernelwright.errors import UsageError
from kernelwright.models.config import ModelConfig
from kernelwright.records.task import Target, TaskLimits
from kernelwright.search.frontend_midend import FrontendMidendConfig
from kernelwright.search.independent import BestOfNConfig


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('seed = 7\n[budget]\nproposals = 30\n[strategy]\nname = "best_of_n"\nn = 5\n')
    return path


def test_flags_win_over_the_file(file):
    config = load_config(file, {"seed": 9, "budget": {"device_s": 60.0}})
    assert (config.seed, config.budget.proposals, config.budget.device_s) == (9, 30, 60.0)
    assert config.strategy == BestOfNConfig(n=5)


def test_the_same_strategy_keeps_its_settings_and_another_drops_them(file):
    assert load_config(file, {"strategy": {"name": "best_of_n"}}).strategy == BestOfNConfig(n=5)
    assert load_config(file, {"strategy": {"name": "tritongym"}}).strategy.name == "tritongym"


def test_the_packaged_model_is_asked_what_it_was_trained_on_unless_somebody_says_otherwise():
    small = {"models": {"default": {"provider": "huggingface", "name": "kernelwright-small"}}, "proposer": "llm"}
    config = RunConfig.model_validate(small)
    assert (config.strategy, config.proposer) == (BestOfNConfig(role="frontend"), "llm:trained")
    assert RunConfig.model_validate(config.model_dump()) == config
    named = RunConfig.model_validate({**small, "strategy": {"name": "fsr"}, "proposer": "llm:terse"})
    assert (named.strategy.name, named.proposer) == ("fsr", "llm:terse")
    other = RunConfig.model_validate({"models": {"default": {"name": "m"}}, "proposer": "llm"})
    assert (other.strategy.name, other.proposer) == ("tritongym", "llm")


@pytest.mark.parametrize(
    ("settings", "reward"),
    [
        ({}, "tritongym"),
        ({"strategy": {"name": "fsr"}}, "tritongym"),
        ({"strategy": {"name": "frontend_midend"}}, "frontend_midend"),
        ({"strategy": FrontendMidendConfig()}, "frontend_midend"),
        ({"strategy": {"name": "frontend_midend"}, "reward": "log_speedup"}, "log_speedup"),
        ({"strategy": {"name": "best_of_n"}, "reward": "frontend_midend"}, "frontend_midend"),
    ],
)
def test_a_strategy_has_its_own_reward_unless_another_is_named(settings, reward):
    config = RunConfig.model_validate(settings)
    assert config.reward == config.model_dump(mode="json")["reward"] == reward
    assert load_config(None, settings).reward == reward


def test_it_survives_json():
    config = RunConfig.model_validate({"policy": {"disabled": ["poison"]}, "strategy": {"name": "best_of_n"}})
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"budget": {"proposals": 0}}, r"budget.proposals: Input should be greater"),
        ({"sede": 1}, r"sede: there is no such setting \(did you mean 'seed'\?\)\."),
        ({"budget": {"proposal": 1}}, r"budget.proposal: there is no such setting \(did you mean 'proposals'\?\)\."),
        ({"strategy": {"name": "best_of_n", "rolle": 1}}, r"rolle: there is no such setting\."),
        ({"zzz": {}}, r"zzz: there is no such setting\."),
        ({"strategy": {"name": "magic"}}, r"strategy: .*best_of_n"),
        ({"reward": "gold"}, r"reward: .*must be one of .*log_speedup"),
        ({"target_us": -1.0}, r"target_us"),
    ],
)
def test_a_fault_is_named_with_its_setting(flags, words):
    with pytest.raises(UsageError, match=words):
        load_config(None, flags)


def test_a_file_that_is_missing_or_broken_says_so(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        load_config(tmp_path / "none.toml", {})
    (tmp_path / "bad.toml").write_text("seed = = 1")
    with pytest.raises(UsageError, match="not a TOML file"):
        load_config(tmp_path / "bad.toml", {})


def test_merging_changes_neither_side():
    below, above = {"a": {"x": 1}}, {"a": {"y": 2}}
    assert merge(below, above) == {"a": {"x": 1, "y": 2}}
    assert (below, above) == ({"a": {"x": 1}}, {"a": {"y": 2}})


@pytest.mark.parametrize(
    ("strategy", "proposals"),
    [
        ({"name": "fsr"}, 5 * 3 * (1 + 3)),
        ({"name": "fsr", "n": 2, "depth": 4, "repair_limit": 0}, 8),
        ({"name": "cudaforge"}, 10),
        ({"name": "cudaforge", "rounds": 20}, 20),
        ({"name": "tritongym"}, 12),
    ],
)
def test_a_strategy_brings_the_budget_that_it_needs(strategy, proposals):
    config = load_config(None, {"strategy": strategy, "budget": {"usd": 2.0}})
    assert (config.budget.proposals, config.budget.usd) == (proposals, 2.0)
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config
    assert load_config(None, {"strategy": strategy, "budget": {"proposals": 7}}).budget.proposals == 7


@pytest.mark.parametrize(
    ("settings", "kind", "language"),
    [
        ({"strategy": {"name": "cudaforge"}, "proposer": "llm"}, "cuda", "cuda"),
        ({"strategy": {"name": "fsr"}, "proposer": "llm:terse"}, "cuda", "cuda"),
        ({"strategy": {"name": "fsr"}, "proposer": "llm", "language": "triton"}, "cuda", "triton"),
        ({"strategy": {"name": "fsr"}, "proposer": "llm"}, "cpu", None),
        ({"strategy": {"name": "fsr"}}, "cuda", None),
        ({"strategy": {"name": "tritongym"}, "proposer": "llm"}, "cuda", None),
    ],
)
def test_models_write_what_the_strategy_s_system_writes(settings, kind, language):
    assert with_task_defaults(load_config(None, settings), TaskLimits(), kind).language == language


@pytest.mark.parametrize(
    ("settings", "present", "who"),
    [
        ({}, True, "author+inductor"),
        ({}, False, "author"),
        ({"policy": {"baselines": ["eager"]}}, True, "author"),
        ({"budget": {"proposals": 3}}, True, "author"),
        ({"proposer": "author"}, True, "author"),
        ({"proposer": "inductor", "budget": {"proposals": 1}}, False, "inductor"),
    ],
)
def test_the_compiler_is_a_colleague_where_kernels_are_timed_against_it(settings, present, who):
    target = Target(kind="cpu", arch="native", present=present)
    assert without_inductor(load_config(None, settings), target).proposer == who


@pytest.mark.parametrize(
    ("settings", "kind", "seconds"),
    [
        ({"effort": "quick"}, "cuda", 8.0),
        ({"effort": "quick"}, "cpu", None),
        ({}, "cuda", 150.0),
        ({"effort": "thorough"}, "cuda", None),
        ({"effort": "standard"}, "cuda", 150.0),
        ({"effort": "quick", "budget": {"proposals": 9}}, "cuda", None),
        ({"effort": "quick", "budget": {"device_s": 90.0}}, "cuda", 90.0),
        ({"effort": "quick", "strategy": {"name": "cudaforge"}}, "cuda", None),
        ({"effort": "quick", "proposer": "llm", "models": {"default": {"name": "m"}}}, "cuda", None),
    ],
)
def test_a_search_on_a_gpu_ends_by_time_where_nothing_else_was_asked_for(settings, kind, seconds):
    target = Target(kind=kind, arch="native" if kind == "cpu" else "sm_90", present=True)
    assert with_time_limit(load_config(None, settings), target).budget.device_s == seconds


@pytest.mark.parametrize(
    ("settings", "kind", "seconds"),
    [
        ({"effort": "quick"}, "cuda", 5.0),
        ({"effort": "quick"}, "cpu", 10.0),
        ({"effort": "quick", "policy": {"final_seconds": 20.0}}, "cuda", 20.0),
        ({}, "cuda", 30.0),
    ],
)
def test_a_quick_final_on_a_gpu_is_shorter_unless_its_seconds_were_named(settings, kind, seconds):
    target = Target(kind=kind, arch="native" if kind == "cpu" else "sm_90", present=True)
    assert with_time_limit(load_config(None, settings), target).policy.final_seconds == seconds


@pytest.mark.parametrize(
    ("settings", "proposals", "points", "blocks"),
    [
        ({}, 12, 16, 24),
        ({"effort": "quick"}, 6, 6, 12),
        ({"effort": "thorough"}, 48, 48, 32),
        ({"effort": "thorough", "strategy": {"name": "cudaforge"}}, 40, 48, 32),
        ({"effort": "quick", "budget": {"proposals": 9}, "autotune": {"points": 3}}, 9, 3, 12),
        ({"effort": "thorough", "policy": {"search_blocks": 8, "seeds": 2}}, 48, 48, 8),
    ],
)
def test_an_effort_brings_settings_under_what_is_said(settings, proposals, points, blocks):
    config = load_config(None, settings)
    assert (config.budget.proposals, config.autotune.points, config.policy.search_blocks) == (proposals, points, blocks)
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config


def test_an_effort_that_nobody_knows_is_named():
    with pytest.raises(UsageError, match=r"effort: .*'quick', 'standard' or 'thorough'"):
        load_config(None, {"effort": "high"})


def models_of(tmp_path, table):
    path = tmp_path / "models.toml"
    path.write_text(f"[models.default]\n{table}max_tokens = 4096\nretries = 2\ntimeout_s = 6\n")
    return path


def test_settings_of_a_model_that_is_named_on_the_command_line_hold(tmp_path):
    told = []
    flags = {"models": {"default": {"provider": "openai", "name": "m"}}}
    config = load_config(models_of(tmp_path, ""), flags, tell=told.append)
    model = config.models["default"]
    assert (model.name, model.max_tokens, model.retries, model.timeout_s) == ("m", 4096, 2, 6.0)
    assert told == []


def test_settings_of_another_model_are_not_used_and_that_is_told(tmp_path):
    told = []
    flags = {"models": {"default": {"provider": "openai", "name": "m", "retries": 1}}}
    config = load_config(models_of(tmp_path, 'name = "other"\n'), flags, tell=told.append)
    assert config.models["default"] == ModelConfig(name="m", retries=1)
    assert [text.partition(" ")[0] for text in told] == ["models.default.max_tokens", "models.default.timeout_s"]


def test_settings_of_another_strategy_are_told_too(file):
    told = []
    load_config(file, {"strategy": {"name": "tritongym"}}, tell=told.append)
    assert [text.partition(" ")[0] for text in told] == ["strategy.n"]
