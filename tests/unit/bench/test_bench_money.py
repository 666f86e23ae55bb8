"""What a comparison is expected to cost, and what all its cells may spend together."""

from dataclasses import replace

import pytest

from kernelwright import api
from kernelwright.models.config import ModelConfig
from kernelwright.testing.scripted import ScriptedEvaluator, scripted_suppliers
from kernelwright.testing.scripted_chat import AskingProposer, ScriptedModel


@pytest.fixture
def bench(tasks, tmp_path):
    """Runs a bench whose kernels cost 10 tokens and $0.001 each; keeps the news."""

    def run(cell=None, **more):
        config = api.load_config(None, {"budget": {"proposals": 4, **(cell or {})}, **more.pop("settings", {})})
        request = api.BenchRequest(
            (tasks / "a.py", tasks / "b.py"), tmp_path / "bench", ("best_of_n",), target="cpu", config=config, **more
        )
        run.news = []
        return api.bench(request, scripted_suppliers(ScriptedEvaluator(outcomes=("measured",))), run.news.append)

    return run


def test_what_is_left_is_priced_before_the_first_call(tasks, tmp_path, monkeypatch):
    (tmp_path / "prices.toml").write_text(
        '["cheap"]\ninput = 1.0\noutput = 1.0\n["dear"]\ninput = 100.0\noutput = 100.0\n'
    )
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(tmp_path / "prices.toml"))
    told, asked = [], []

    def model(config):
        asked.append(config.name)
        return ScriptedModel(name=config.name)

    def heard(news):
        told.append(news)
        if isinstance(news, api.BenchBegins):
            opened.extend(model for model in made if model.requests)

    made, opened = [], []
    suppliers = replace(
        scripted_suppliers(ScriptedEvaluator(outcomes=("measured",)), AskingProposer()),
        model=lambda config: made.append(model(config)) or made[-1],
    )
    config = api.load_config(None, {"budget": {"proposals": 4}, "in_flight": 1})
    model_sets = {name: {"default": ModelConfig(name=name)} for name in ("cheap", "dear")}
    request = api.BenchRequest(
        (tasks / "a.py",), tmp_path / "two", ("direct",), ("llm",), target="cpu", config=config, model_sets=model_sets
    )
    result = api.bench(request, suppliers, heard)
    begins = told[0]
    assert isinstance(begins, api.BenchBegins) and begins.cells == 2
    assert begins.expected.startswith("about 8 calls,") and "$" in begins.expected
    assert opened == []
    assert [cell.models for cell in result.comparison.cells] == [("cheap",), ("dear",)]
    assert [cell.asked for cell in result.comparison.cells] == [4, 4]
    assert {(one.factor, one.level) for one in result.comparison.factors} == {("model", "cheap"), ("model", "dear")}
    assert "direct · dear" in result.page.read_text()
    assert "models.dear.default.name" not in result.page.read_text() and "dear.default.name" in result.page.read_text()
    told.clear()
    api.bench(request, suppliers, heard)
    assert not any(isinstance(news, api.BenchBegins) for news in told)


def statuses(result):
    return [cell.status for cell in result.comparison.cells]


@pytest.mark.parametrize(
    ("cell", "short", "enough"),
    [
        ({"tokens": 40}, {"tokens": 79}, {"tokens": 80}),
        ({"usd": 0.004}, {"usd": 0.0079}, {"usd": 0.008}),
    ],
)
def test_a_cell_that_finds_less_than_its_cap_is_not_run_and_a_larger_total_goes_on(bench, cell, short, enough):
    first = bench(cell, total=api.Total(**short))
    assert statuses(first) == ["done", "unpaid"]
    assert "of the total of" in first.comparison.cells[1].reason
    assert first.exit_code == 1 and not first.comparison.complete
    assert first.comparison.arms[0].figures.missing == 1
    again = bench(cell, total=api.Total(**enough))
    assert statuses(again) == ["done", "done"]
    assert [news.cell.task for news in bench.news if isinstance(news, api.CellBegins)] == ["b"]
