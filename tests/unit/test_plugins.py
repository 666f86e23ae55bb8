"""Plug-ins of others: found by entry point, asked for by name, never before what is built in."""

import asyncio
import json
import subprocess
import sys
import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright import api
from kernelwright.engine.config import load_config
from kernelwright.errors import MachineError, UsageError
from kernelwright.evaluate.backends.table import Backends, name_of
from kernelwright.models.config import read_model
from kernelwright.models.table import make_model
from kernelwright.plugins import load_plugin, plugin_names
from kernelwright.propose.table import make_proposer, proposer_names
from kernelwright.records.chat import ChatMessage, ChatRequest
from kernelwright.records.task import Target
from kernelwright.reward.table import find_reward, tritongym
from kernelwright.search.strategy import Limits
from kernelwright.search.table import spelled
from kernelwright.store.run import RunStore
from kernelwright.testing.samples import SOURCE, sample_evaluation
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers

PACKAGE = Path(__file__).parents[1] / "plugin_package"


def install(folder, name, points):
    """What an installer leaves of a distribution: its metadata, with the entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items()) for group, rows in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The sample package as an installer leaves it, without one: quick, and nothing is fetched."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    install(tmp_path / "site", project["name"], project["entry-points"])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(PACKAGE)
    return tmp_path


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Installs a distribution with one entry point that names `value`."""

    def install_broken(group, value, name="odd-plugin", point="odd"):
        install(tmp_path / name, name, {f"kernelwright.{group}": {point: value}})
        monkeypatch.syspath_prepend(tmp_path / name)

    return install_broken


def test_one_of_each_kind_is_found(installed):
    assert {kind: plugin_names(kind) for kind in ("strategies", "proposers", "models", "backends")} == {
        "strategies": ("halves",), "proposers": ("echo",), "models": ("parrot",), "backends": ("hip",),
    }  # fmt: skip
    assert load_plugin("backends", "hip").__module__ == "sample_plugins.backend"


def test_a_plug_in_serves_a_device_that_nothing_built_in_serves(installed):
    here = Target(kind="hip", arch="gfx942", present=True)
    with pytest.raises(MachineError, match="the sample knows no AMD GPU"):
        Backends().of(here)
    assert name_of(here.model_copy(update={"present": False})) == "hip"
    assert find_reward("brief")(sample_evaluation("measured", 3.0), None, None) == pytest.approx(3.0)
    assert type(make_proposer("echo")).__name__ == "Echo"
    assert "echo" in proposer_names()
    assert make_model(read_model("parrot:grey")).name == "parrot:grey"


def test_a_built_in_name_wins(installed):
    assert "tritongym" in plugin_names("rewards")
    assert find_reward("tritongym") is tritongym


def test_a_strategy_has_options_of_its_own(installed):
    config = load_config(None, {"strategy": {**spelled("halves"), "share": 0.25}})
    assert config.strategy.share == 0.25
    assert config.model_dump(mode="json")["strategy"] == {"name": "halves", "share": 0.25}
    assert type(config).model_validate(config.model_dump(mode="json")) == config
    assert type(config.strategy.make(Limits(proposals=8))).__name__ == "Halves"
    with pytest.raises(UsageError, match=r"strategy\.share: .*less than or equal to 1"):
        load_config(None, {"strategy": {"name": "halves", "share": 2}})


def test_a_run_is_made_of_plugins_alone_and_goes_on(installed, tmp_path):
    (tmp_path / "abs.py").write_text(SOURCE)
    flags = {
        "strategy": {"name": "halves"}, "proposer": "echo", "reward": "brief",
        "models": {"default": {"provider": "parrot", "name": "grey"}}, "budget": {"proposals": 6},
    }  # fmt: skip
    evaluator = ScriptedEvaluator(outcomes=("measured",))
    suppliers = replace(scripted_suppliers(evaluator), proposer=make_proposer, model=make_model)
    request = api.OptimizeRequest(tmp_path / "abs.py", "cpu", load_config(None, flags), tmp_path / "runs")
    found = api.optimize(request, suppliers)
    assert (found.summary.stopped, found.error) == ("Both halves were judged.", None)
    with closing(RunStore.open(Path(found.summary.folder))) as store:
        attempts, tells = store.attempts(), store.tells()
    assert [a.proposal_request.intent for a in attempts] == ["seed"] * 3 + ["improve"] * 3
    assert {a.proposal.model for a in attempts} == {"parrot:grey"}
    assert [t.reward for t in tells] == [find_reward("brief")(a.evaluation, None, None) for a in attempts]
    calls = len(evaluator.calls)
    assert api.resume(Path(found.summary.folder), suppliers).summary == found.summary
    assert len(evaluator.calls) == calls


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module:thing", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:no_such_name", "AttributeError: module 'json' has no attribute 'no_such_name'"),
        ("json:__name__", "is no such part"),
    ],
)
def test_what_cannot_be_loaded_is_named_with_its_distribution(broken, value, said):
    broken("rewards", value)
    with pytest.raises(UsageError) as caught:
        find_reward("odd")
    assert f"the plug-in 'odd' of odd-plugin 1.0 (kernelwright.rewards: {value})" in str(caught.value)
    assert said in str(caught.value)


def test_a_strategy_that_is_no_configuration_is_refused(broken):
    broken("strategies", "json:dumps")
    with pytest.raises(UsageError, match=r"odd-plugin 1\.0 .*docs/plugins\.md"):
        load_config(None, {"strategy": {"name": "odd"}})


def test_two_distributions_cannot_bring_one_name(broken):
    broken("models", "json:dumps")
    broken("models", "json:loads", name="other-plugin")
    with pytest.raises(UsageError, match=r"odd-plugin 1\.0 and other-plugin 1\.0 both bring 'odd'"):
        make_model(read_model("odd:x"))


def test_nothing_of_a_plugin_is_imported_before_it_is_asked_for(installed):
    code = (
        "import json, sys; from kernelwright import api; api.load_config(None, {'strategy': {'name': 'direct'}});"
        "print(json.dumps(sorted(m for m in sys.modules if m.startswith('sample_plugins'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_the_models_of_plugins_answer(installed):
    model = make_model(read_model("parrot:grey"))
    reply = asyncio.run(model.reply(ChatRequest(messages=(ChatMessage(role="user", text="!"),))))
    assert (reply.model, reply.text) == ("parrot:grey", "// quality 33\n")
