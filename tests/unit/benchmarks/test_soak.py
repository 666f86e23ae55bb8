"""The soak's verdict: what grows is named, what swings is not."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def soak(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("soak")


def rounds(*folders):
    return [{"folders": count} for count in folders]


def test_what_stays_behind_each_round_is_growth_and_what_comes_and_goes_is_none(soak):
    assert soak.growth(rounds(1, 1, 2, 3, 4, 5), "folders") > soak.SLACK["folders"]
    assert soak.growth(rounds(1, 2, 1, 2, 1, 2), "folders") == 0
    assert soak.growth([], "folders") == 0


def test_every_figure_that_is_counted_has_a_slack(soak, tmp_path, monkeypatch):
    monkeypatch.setattr(soak.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(soak.kernel, "_children", lambda pid: [])
    (tmp_path / "kernelwright-held-left").mkdir()
    found = soak.there(tmp_path)
    assert found.keys() == soak.SLACK.keys()
    assert found["folders"] == 1
