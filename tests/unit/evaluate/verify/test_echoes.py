"""Random results that are windows of kept numbers, and such as only look alike."""

import pytest
import torch

from kernelwright.evaluate.verify.statistical import ENOUGH, WIDTH, Echoes, codes

COUNT = 1 << 14


@pytest.fixture(autouse=True)
def seeded():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(threads)


def found(draw, calls=12):
    echoes = Echoes()
    for _ in range(calls):
        echoes.add(draw())
    return echoes.found


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_windows_of_a_pool_are_heard_and_new_events_are_not(share):
    pool = torch.rand(2 * COUNT) < share

    def window():
        begin = int(torch.randint(COUNT, ()))
        return pool[begin : begin + COUNT]

    def pieces():
        return torch.cat([window()[:2048] for _ in range(8)])

    assert found(window) >= ENOUGH
    assert found(pieces, 20) >= ENOUGH
    assert found(lambda: torch.rand(COUNT) < share, 20) == 0


def test_a_code_is_the_bits_of_its_stretch():
    events = torch.rand(200) < 0.5
    wanted = sum(int(bit) << i for i, bit in enumerate(events[7 : 7 + WIDTH].tolist()))
    assert int(codes(events)[7]) == (wanted if wanted < 1 << 63 else wanted - (1 << 64))
    assert len(codes(events)) == 200 - WIDTH + 1


def test_few_events_say_nothing():
    assert found(lambda: torch.rand(100) < 0.5) == 0
    assert found(lambda: torch.zeros(COUNT, dtype=torch.bool)) == 0
