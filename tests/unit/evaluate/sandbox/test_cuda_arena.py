"""An arena of device memory that finds no room half way holds nothing; the driver is stood in for."""

import os

import pytest
import torch
from cuda.bindings import driver

from kernelwright.evaluate.backends.cuda.outbox import Outbox
from kernelwright.evaluate.sandbox import cuda_arena
from kernelwright.evaluate.sandbox.cuda_arena import CudaArena

GRAIN = 2 << 20
DONE = (driver.CUresult.CUDA_SUCCESS,)


class Driver:
    """Memory of so many bytes, as the driver gives and takes it; everything else is the real one's."""

    def __init__(self, room):
        self.room, self.sizes, self.mapped, self.waited = room, {}, 0, []
        self.accessible = True

    def __getattr__(self, name):
        return getattr(driver, name)

    def cuMemGetAllocationGranularity(self, *_):  # noqa: N802 (the driver's name)
        return (*DONE, GRAIN)

    def cuMemCreate(self, size, *_):  # noqa: N802
        if size > self.room:
            return driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
        self.room -= size
        self.sizes[len(self.sizes)] = size
        return (*DONE, len(self.sizes) - 1)

    def cuMemRelease(self, handle):  # noqa: N802
        self.room += self.sizes[handle]
        return (*DONE, None)

    def cuMemAddressReserve(self, size, *_):  # noqa: N802
        return (*DONE, size)

    def cuMemMap(self, *_):  # noqa: N802
        self.mapped += 1
        return (*DONE, None)

    def cuMemUnmap(self, *_):  # noqa: N802
        self.mapped -= 1
        return (*DONE, None)

    def cuMemSetAccess(self, *_):  # noqa: N802
        return (*DONE, None) if self.accessible else (driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None)

    def cuMemAddressFree(self, *_):  # noqa: N802
        return (*DONE, None)

    def cuCtxSynchronize(self):  # noqa: N802
        self.waited.append(self.mapped)
        return DONE

    def cuMemExportToShareableHandle(self, *_):  # noqa: N802
        with open("/dev/null") as file:  # noqa: PTH123 (a descriptor is wanted)
            return (*DONE, os.dup(file.fileno()))


@pytest.fixture
def device(monkeypatch):
    """A device with room for four grains."""
    found = Driver(4 * GRAIN)
    monkeypatch.setattr(cuda_arena, "driver", found)
    monkeypatch.setattr(cuda_arena, "window", lambda pointer, size: torch.empty(0))
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch, "zeros", lambda *_, **__: None)
    return found


def test_an_arena_is_freed_when_it_is_closed(device):
    arena = CudaArena([GRAIN, 2 * GRAIN])
    assert (device.room, device.mapped) == (GRAIN, 2)
    arena.close()
    assert (device.room, device.mapped) == (4 * GRAIN, 0)


def test_an_arena_that_finds_no_room_half_way_holds_nothing(device):
    with pytest.raises(torch.OutOfMemoryError):
        CudaArena([GRAIN, 2 * GRAIN, 2 * GRAIN])
    assert (device.room, device.mapped) == (4 * GRAIN, 0)


def test_other_tasks_give_way_to_an_outbox(device):
    before = CudaArena([3 * GRAIN])
    outbox = Outbox()
    outbox.open(2 * GRAIN, relieve=before.close)
    assert outbox.nbytes == 2 * GRAIN
    assert device.room == 2 * GRAIN


def test_an_outbox_for_which_nobody_gives_way_finds_no_room(device):
    with pytest.raises(torch.OutOfMemoryError):
        Outbox().open(5 * GRAIN)


def test_nothing_is_unmapped_before_the_device_is_done(device):
    CudaArena([GRAIN, GRAIN]).close()
    assert (device.waited, device.mapped, device.room) == ([2], 0, 4 * GRAIN)


def test_a_mapping_that_is_refused_gives_back_what_it_took(device):
    device.accessible = False
    with pytest.raises(torch.OutOfMemoryError):
        CudaArena([GRAIN])
    assert (device.mapped, device.room) == (0, 4 * GRAIN)
