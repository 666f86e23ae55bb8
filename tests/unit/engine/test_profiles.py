"""Profiles: found once however many ask, and asked for again where none was found."""

import asyncio

import pytest

from kernelwright.engine.gateway.toolbox import Profiles
from kernelwright.errors import MachineError, RefereeError, TaskError
from kernelwright.testing.samples import sample_attempt, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator


class Profiler(ScriptedEvaluator):
    """Breaks at first."""

    def __init__(self, breaks=0, error=RefereeError):
        super().__init__()
        self.profiled, self.breaks, self.error = 0, breaks, error

    async def profile(self, task, candidate, build=None):
        self.profiled += 1
        await asyncio.sleep(0)
        if self.profiled <= self.breaks:
            raise self.error("broken for a test")
        return await super().profile(task, candidate, build)


def answers(profiler, attempts=1):
    async def asked():
        profiles = Profiles(sample_task(), profiler, [sample_attempt()])
        first = await asyncio.gather(*(profiles.answer(0) for _ in range(attempts)), return_exceptions=True)
        return first, await profiles.answer(0)

    return asyncio.run(asked())


def test_siblings_share_a_profile_and_one_pays_for_it():
    profiler = Profiler()
    first, last = answers(profiler, 3)
    assert profiler.profiled == 1
    assert {answer.text for answer in first} == {last.text}
    assert [answer.device_s > 0 for answer in (*first, last)] == [True, False, False, False]


@pytest.mark.parametrize("error", [RefereeError, MachineError, TaskError])
def test_a_profile_that_failed_is_tried_again(error):
    first, last = answers(Profiler(breaks=1, error=error), 3)
    assert [type(found) for found in first] == [error] * 3
    assert last.text


def test_who_gives_up_takes_no_profile_with_them():
    async def asked():
        profiles = Profiles(sample_task(), Profiler(), [sample_attempt()])
        first = asyncio.create_task(profiles.answer(0))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await profiles.answer(0)

    assert asyncio.run(asked()).text
