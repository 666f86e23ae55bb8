"""One worker for the folder, and tasks that are admitted once; every candidate is judged as in a search."""

import asyncio

import gpu_kernels
import pytest
import torch

from kernelwright.engine.target import find_gpu
from kernelwright.evaluate.backends.host import DeviceLock
from kernelwright.evaluate.referee import Referee
from kernelwright.execution.turns import place_of
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

QUICK = Policy(search_blocks=4, final_blocks=8, baselines=("eager",), final_baselines=())


class GpuBench:
    """A referee to talk to without `await`."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.notes = []
        self.referee = Referee(QUICK, on_note=self.notes.append)
        self.target = Target(kind="cuda", arch=find_gpu(), present=True)
        self.tasks = {}

    def wait(self, answer):
        return self.loop.run_until_complete(answer)

    def task(self, name):
        if name not in self.tasks:
            source = TaskSource(name=name, format="kernelbench", source=gpu_kernels.TASKS[name])
            self.tasks[name] = self.wait(self.referee.admit(source, self.target))
        return self.tasks[name]

    def judge(self, name, source, effort="search", defines=(), **options):
        self.referee.policy = QUICK.model_copy(update=options)
        candidate = Candidate(language="triton", source=source, defines=defines)
        return self.wait(self.referee.evaluate(self.task(name), candidate, effort))

    def close(self):
        self.wait(self.referee.close())
        self.loop.close()


@pytest.fixture
def alone():
    """The device's turn, for what times something without a referee: others take turns with it on this machine."""
    with DeviceLock(place_of(f"cuda.{torch.cuda.get_device_properties(0).uuid}")):
        yield


@pytest.fixture(scope="session")
def gpu():
    """The bench; one worker for all modules."""
    bench = GpuBench()
    yield bench
    bench.close()
