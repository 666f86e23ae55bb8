"""A step of decoding that is recorded once and replayed writes what transformers writes step by step."""

import pytest

pytest.importorskip("trl")

from kernelwright.models.small import PACKAGED
from kernelwright.records.chat import ChatMessage
from kernelwright.train.engine.decoding import Decoding
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Sampling, draw

pytestmark = pytest.mark.gpu
ASKED = ["Write a kernel.", "def forward(self, x):\n    return x + 1\n" * 4]


class Openings:
    """An environment that only opens."""

    def opening(self, task):
        return (ChatMessage(role="user", text=task),)


@pytest.fixture(scope="module")
def network():
    found = open_network(str(PACKAGED))
    found.model.to("cuda")
    return found


def written(network, cache):
    return draw(network, Openings(), ASKED, Sampling(1, 0.0, 96, cache=cache))


def test_greedy_replies_are_the_same(network):
    step_by_step, replayed = written(network, "dynamic"), written(network, "static")
    # bfloat16 against float32: behind a near tie they may part.
    assert [reply.text[:40] for (reply,) in step_by_step] == [reply.text[:40] for (reply,) in replayed]


def test_what_is_drawn_differs_from_row_to_row(network):
    prompt = network.prompt_ids(Openings().opening(ASKED[0]))
    made = Decoding(network, [prompt] * 8, longest=64, temperature=2.0).replies()
    assert len({tuple(row) for row in made}) == 8
