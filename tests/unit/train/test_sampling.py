"""Replies outside of a trainer: both caches write the same, and padding changes nothing."""

import pytest

from kernelwright.records.chat import ChatMessage
from kernelwright.train.engine.decoding import Sampling, draw
from kernelwright.train.engine.network import make_small, open_network

TEXTS = ["tile = tl.program_id(0)\n", "row = tile * ROWS + tl.arange(0, ROWS)\n"] * 3
ASKED = ["short", "row = tile * ROWS + tl.arange(0, ROWS)"]


class Openings:
    """An environment that only opens."""

    def opening(self, task):
        return (ChatMessage(role="user", text=task),)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return open_network(str(make_small(tmp_path_factory.mktemp("base") / "model", TEXTS, "1M", vocabulary=300)))


def written(network, tasks, **how):
    return draw(network, Openings(), tasks, Sampling(samples=1, temperature=0.0, max_new_tokens=8, **how))


def test_a_recorded_step_writes_what_transformers_does(network):
    assert written(network, ASKED) == written(network, ASKED, cache="static")
    assert written(network, ASKED[:1]) == written(network, ASKED[:1], cache="static")


def test_a_reply_does_not_depend_on_its_neighbours(network):
    assert written(network, ASKED) == [written(network, [one])[0] for one in ASKED]
    assert written(network, ASKED, batch=1) == written(network, ASKED, batch=2)
