"""`kernelwright graph` and `kernelwright techniques`: what they print, write and exit with."""

import json

import pytest
from typer.testing import CliRunner

from kernelwright.interfaces.cli.main import app
from kernelwright.knowledge.graph.file import graph_text, read_graph
from technique_graphs import cube


@pytest.fixture
def graphs(tmp_path):
    (tmp_path / "a.json").write_text(graph_text(cube("a", "b")))
    (tmp_path / "b.json").write_text(graph_text(cube("b", "c")))
    return tmp_path


def called(*arguments):
    found = CliRunner().invoke(app, [str(a) for a in arguments])
    return found.exit_code, found.output, found.exception


def test_stats_of_the_shipped_graph_as_json():
    code, text, _ = called("graph", "stats", "--json")
    assert code == 0
    assert json.loads(text)["techniques"] >= 40


def test_stats_for_people(graphs):
    code, text, _ = called("graph", "stats", graphs / "a.json")
    assert code == 0
    assert "techniques    3" in text


def test_merged_graphs_hold_both(graphs):
    code, _, _ = called("graph", "merge", graphs / "a.json", graphs / "b.json", "-o", graphs / "both.json")
    assert code == 0
    assert set(read_graph(graphs / "both.json").nodes) == {"start", "base", "a", "b", "c"}


def test_show_writes_a_page_and_a_picture(graphs):
    code, text, _ = called("graph", "show", graphs / "a.json", "--html", graphs / "g.html", "--svg", graphs / "g.svg")
    assert code == 0
    assert "g.html" in text
    assert (graphs / "g.svg").read_text().startswith("<svg ")
    assert (
        'data-edge="base&gt;a"' in (graphs / "g.html").read_text()
        or 'data-edge="base>a"' in (graphs / "g.html").read_text()
    )


def test_check_says_what_is_at_fault_and_exits_with_3(graphs):
    code, text, _ = called("graph", "check", graphs / "a.json")
    assert code == 3
    assert "has no card in the library" in text
    assert called("graph", "check")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("merge", "a.json"), "--out"),
        (("build",), "--out"),
        (("stats", "a.json", "b.json"), "graph merge first"),
        (("stats", "none.json"), "check the path"),
    ],
)
def test_what_is_missing_is_said(graphs, arguments, words):
    action, *files = arguments
    _, _, error = called("graph", action, *(graphs / f for f in files))
    assert words in str(error)


def test_merging_nothing_is_refused_and_writes_nothing(graphs):
    _, _, error = called("graph", "merge", "-o", graphs / "none.json")
    assert "name their files" in str(error)
    assert not (graphs / "none.json").exists()


def test_what_show_wrote_is_said_as_json(graphs):
    _, text, _ = called("graph", "show", graphs / "a.json", "--svg", graphs / "g.svg", "--json")
    assert json.loads(text) == {"written": [str(graphs / "g.svg")]}


def test_techniques_that_fit_are_listed():
    code, text, _ = called("techniques", "--bottleneck", "launch", "--family", "reduction", "--language", "triton")
    assert code == 0
    assert "fused-epilogue" not in text
    code, text, _ = called("techniques", "bank", "conflicts", "--json")
    assert json.loads(text)[0]["technique"]["name"] == "bank-conflict-padding"


def test_nothing_that_fits_is_exit_1_and_a_wrong_word_is_said():
    assert called("techniques", "zzzz")[0] == 1
    assert "must be one of" in str(called("techniques", "--bottleneck", "magic")[2])
    assert "language" in str(called("techniques", "--language", "cobol")[2])
