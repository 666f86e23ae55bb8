"""What a comparison is expected to cost, and what all its cells may spend together."""

import pytest

from kernelwright import api
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.testing.suppliers import scripted_suppliers


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
