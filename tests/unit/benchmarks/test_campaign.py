"""The runner of measurements: what it measures again, what it refuses, and what its file holds after every row."""

import importlib
import json
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"
HEAD = {"device": "H200", "versions": {"torch": "2", "triton": "3", "driver": "5"}, "commit": "a", "size": "large"}


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("campaign")


@pytest.fixture
def opened(module, tmp_path):
    """A campaign on FILE, begun with a head."""

    def call(*options, out="out.json", raw=(), **head):
        asked = module.command("words").parse_args(["--out", str(tmp_path / out), *options])
        found = module.Campaign(asked, same=("size",), summary=lambda rows: {"count": len(rows)}, raw=raw)
        if not asked.join:
            found.begin({**HEAD, **head})
        return found

    return call


def document(tmp_path, name="out.json"):
    return json.loads((tmp_path / name).read_text())


def test_the_file_is_whole_after_each_row_and_the_next_call_goes_on(opened, tmp_path):
    one = opened()
    for item in one.left("ab"):
        one.put({"task": item, "us": 1.0})
        assert document(tmp_path)["rows"][-1]["task"] == item
    again = opened(commit="b", versions={**HEAD["versions"], "driver": "6"})
    assert list(again.left("abc")) == ["c"]
    again.put({"task": "c", "us": 2.0})
    found = document(tmp_path)
    assert [row.get("commit") for row in found["rows"]] == ["a", "a", None], "each names its own, or it is the head's"
    assert (found["commit"], found["count"]) == ("b", 3)
    assert (tmp_path / "out.json").read_text().count("\n{") == 3, "a line for each row"


@pytest.mark.parametrize("other", [{"device": "H100"}, {"size": "small"}, {"versions": {"torch": "1", "triton": "3"}}])
def test_rows_of_another_device_or_option_are_not_lost(opened, tmp_path, other):
    opened().put({"task": "a"})
    with pytest.raises(SystemExit, match="name another file"):
        opened(**other)
    assert len(document(tmp_path)["rows"]) == 1


def test_nothing_begins_when_the_time_is_over_and_nothing_is_said_when_all_is_done(opened, capsys):
    late = opened("--seconds", "-1")
    assert list(late.left("ab")) == []
    assert "goes on" in capsys.readouterr().err
    assert list(late.left("")) == []
    assert not capsys.readouterr().err


def test_what_is_asked_for_anew_is_measured_again(opened):
    one = opened()
    for task in ("add", "relu"):
        one.put({"task": task})
    assert list(opened("--anew", "--only", "rel").by_key) == ["add"]
    assert not opened("--anew").by_key


def test_only_and_part_choose_items(opened):
    names = ["add", "relu", "rms", "softmax"]
    assert opened().chosen(names) == names
    assert opened("--only", "rel,soft", "rms").chosen(names) == names[1:]
    assert opened("--part", "2/3").chosen(names) == ["relu"]


def test_parts_are_joined_with_their_raw_lines(opened, tmp_path):
    for part, commit in (("1", "a"), ("2", "b")):
        one = opened(out=f"{part}.json", raw=("source",), commit=commit)
        one.put({"task": part, "us": 1.0, "source": "text"})
        one.put({"task": "both", "us": float(part), "source": "text"})
    whole = opened("--join", *(str(tmp_path / f"{part}.json") for part in "12"), out="all.json")
    whole.run(None)
    found = document(tmp_path, "all.json")
    assert {row["task"]: row["us"] for row in found["rows"]} == {"1": 1.0, "2": 1.0, "both": 2.0}
    assert "source" not in found["rows"][0]
    raw = [json.loads(line) for line in (tmp_path / "all.raw.jsonl").read_text().splitlines()]
    assert raw.count({"task": "both", "source": "text"}) == 2
    opened(out="3.json", size="small").put({"task": "x"})
    with pytest.raises(SystemExit):
        opened("--join", str(tmp_path / "1.json"), str(tmp_path / "3.json"), out="no.json").run(None)


def test_the_table_or_the_document_is_printed(opened, capsys):
    one = opened("--json")
    one.put({"task": "a"})
    one.show(lambda rows: "a table")
    assert json.loads(capsys.readouterr().out)["count"] == 1
    opened().show(lambda rows: f"{len(rows)} rows")
    assert capsys.readouterr().out == "1 rows\n"
