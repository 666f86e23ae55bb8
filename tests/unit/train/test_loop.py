"""The loop of a trainer ends, whatever is still waited for."""

import asyncio

from kernelwright.train.judges import Loop


def test_what_nobody_waits_for_any_more_is_given_up_before_the_thread_ends():
    ended = []

    async def never():
        try:
            await asyncio.sleep(60.0)
        finally:
            ended.append("cancelled")

    async def begun():
        task = asyncio.ensure_future(never())
        await asyncio.sleep(0)
        return task

    with Loop() as loop:
        task = loop.run(begun())
    assert task.cancelled()
    assert ended == ["cancelled"]
