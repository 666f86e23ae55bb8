"""A step of decoding that is recorded once and replayed writes what transformers writes step by step."""

import pytest

pytest.importorskip("trl")

from kernelwright.models.small import PACKAGED
from kernelwright.records.chat import ChatMessage
from kernelwright.train.engine.decoding import Decoding, Sampling, draw, grouped
from kernelwright.train.engine.network import open_network

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


def test_attention_of_halves_errs_by_their_rounding():
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    query = torch.randn(4, 8, 1, 64, device="cuda")
    key, value = (torch.randn(4, 4, 200, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    exact = grouped(None, query.bfloat16().double(), key.double(), value.double(), None)[0]
    with torch.autocast("cuda", torch.bfloat16):
        found = grouped(None, query.bfloat16(), key, value, None)[0]
    assert (found - exact).abs().max() < 2**-7 * exact.abs().max()
