"""Tests of a GPU in parts: what a call takes over from the last one, what it begins, and what it leaves as it was."""

import importlib
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"
HEAD = {"device": "H200", "versions": {"torch": "2"}, "commit": "a"}
ROWS = [
    {"test": "long", "outcome": "passed", "seconds": 90.0, "why": ""},
    {"test": "wrong", "outcome": "failed", "seconds": 2.0, "why": "it is"},
]


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """A pass that goes on from ROWS, on a device and commit."""
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("gpu_tests")
    out = tmp_path / "out.json"
    out.write_text(json.dumps({**HEAD, "rows": ROWS}))

    def open_it(**head):
        monkeypatch.setattr(module, "provenance_of", lambda target: {**HEAD, **head})
        told = {"only": "", "first": "", "share": None, "workers": 1, "gpus": 1, "keep_passed": False, "seconds": 50.0}
        made = module.Continued(SimpleNamespace(out=out, **told))
        made.open()
        return made

    return open_it


def heard(made, test, outcome, when="call"):
    made.pytest_runtest_logreport(
        SimpleNamespace(nodeid=test, outcome=outcome, when=when, duration=1.0, longrepr="because")
    )


def begins(made, test):
    session = SimpleNamespace(shouldstop=False)
    try:
        made.pytest_runtest_setup(SimpleNamespace(nodeid=test, session=session))
    except pytest.skip.Exception:
        return False
    made.pytest_runtest_teardown()
    return True


def test_what_a_test_took_is_known_on_any_device_and_from_call_to_call(opened):
    for head in ({"device": "H100"}, {"commit": "b"}):
        made = opened(**head)
        assert (made.known_s, made.rows) == ({"long": 90.0, "wrong": 2.0}, {})
    heard(made, "new", "passed")  # the file holds the rows of this commit alone
    assert opened().known_s == {"long": 90.0, "wrong": 2.0, "new": 1.0}


def test_a_test_that_the_time_does_not_allow_is_not_begun_and_shorter_ones_are(opened):
    made = opened(device="H100")
    assert [begins(made, test) for test in ("long", "wrong", "unknown")] == [False, True, True]
    made.end = time.monotonic() + 5.0
    assert [begins(made, test) for test in ("long", "wrong", "unknown")] == [False, True, False]


def test_a_test_that_was_skipped_leaves_its_row(opened):
    made = opened()
    for test in ("wrong", "new"):
        heard(made, test, "skipped", "setup")
    assert made.rows.keys() == {"long", "wrong"}
    assert made.rows["wrong"]["why"] == "it is"


def test_a_test_that_never_ends_has_failed_and_the_others_come_first(opened):
    assert begins(opened(), "hangs")
    made = opened()  # the next process
    assert made.rows["hangs"]["outcome"] == "failed"
    assert "ended the process" in made.rows["hangs"]["why"]
    items = [SimpleNamespace(nodeid=test, get_closest_marker=lambda name: True) for test in ("hangs", "new")]
    made.pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["new", "hangs"]


def test_a_test_that_skips_itself_leaves_its_row_too(opened):
    made = opened()
    for test in ("wrong", "new"):
        assert begins(made, test)
        heard(made, test, "skipped", "setup")
    assert made.rows.keys() == {"long", "wrong"}
    assert made.rows["wrong"]["why"] == "it is"


def test_what_another_worker_found_is_not_taken_back(opened):
    made = opened()
    others = opened()
    others.share, others.out = 1, made.out.with_name("1.json")
    heard(made, "wrong", "passed")
    heard(others, "new", "failed", "setup")
    made.take(others.out)
    assert [made.rows[test]["outcome"] for test in ("long", "wrong", "new")] == ["passed", "passed", "failed"]
