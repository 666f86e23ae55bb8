"""The graph's page and picture: all of it is there, no text is taken for markup, and nothing is needed from elsewhere."""

import json
import re

import pytest

from kernelwright.records.technique import START, Edge, TechniqueGraph, code_id
from kernelwright.report.graph_page import places, render_graph, svg
from technique_graphs import cube, example

GRAPH = cube("alpha", "beta", "gamma")
HOSTILE = "</script><script>alert(1)</script>&amp;"


@pytest.fixture(scope="module")
def page():
    return render_graph(GRAPH, [("techniques", "4")])


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_every_technique_and_edge_is_in_the_picture():
    picture = svg(GRAPH)
    assert picture.startswith("<svg ")
    assert set(re.findall(r'data-node="([^"]+)"', picture)) == set(GRAPH.nodes)
    assert set(re.findall(r'data-edge="([^"]+)"', picture)) == set(GRAPH.by_key)


def test_no_two_techniques_stand_in_one_place_and_the_start_is_in_the_middle():
    found = places(GRAPH)
    assert found[START] == (0.0, 0.0)
    assert len(set(found.values())) == len(GRAPH.nodes)


def test_names_point_outwards_and_are_never_upside_down():
    turns = [float(turn) for turn in re.findall(r"rotate\(([-\d.]+)\)", svg(GRAPH))]
    assert len(turns) == len(GRAPH.nodes) - 1
    assert all(-90 <= turn <= 90 or 270 <= turn <= 450 for turn in turns)


def test_an_edge_opens_its_examples_with_what_changed(page):
    edge = data_of(page)["base>alpha"]
    assert edge["examples"] == 1
    (shown,) = edge["shown"]
    assert "-line of alpha: old" in shown["diff"]
    assert "+line of alpha: new" in shown["diff"]
    assert shown["gains"] == ["not timed"]


def test_it_can_be_searched_and_fetches_nothing(page):
    assert 'id="search"' in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="?https?:', page)


def test_hostile_texts_stay_text():
    before, after = "old", HOSTILE
    shown = example(before, after, "alpha").model_copy(update={"think": HOSTILE, "evidence": HOSTILE})
    graph = TechniqueGraph(
        nodes=(START, "alpha"),
        edges=(Edge(source=START, target="alpha", examples=(shown,)),),
        codes={code_id(text): text for text in (before, after)},
    )
    page = render_graph(graph, [("name", HOSTILE)])
    assert page.count("<script") == 2
    assert data_of(page)["start>alpha"]["shown"][0]["think"] == HOSTILE


def test_a_technique_that_nothing_leads_to_is_shown_too():
    graph = GRAPH.model_copy(update={"nodes": (*GRAPH.nodes, "alone")})
    assert "alone" in places(TechniqueGraph.model_validate(graph.model_dump()))
