"""The gate: many together or one alone, whoever is cancelled on the way."""

import asyncio

import pytest

from kernelwright.execution.local import Gate


@pytest.fixture
def play():
    """Runs visitors, each `(how, when it comes, how long it stays)` in milliseconds; the log of who came and left."""

    def run(*visitors, cancelled=()):
        async def visit(gate, log, number, how, comes, stays):
            await asyncio.sleep(comes / 1000)
            async with getattr(gate, how)():
                log.append(f"+{number}")
                await asyncio.sleep(stays / 1000)
                log.append(f"-{number}")

        async def whole():
            gate, log = Gate(), []
            tasks = [asyncio.create_task(visit(gate, log, n, *visitor)) for n, visitor in enumerate(visitors)]
            await asyncio.sleep(0.05)
            for number in cancelled:
                tasks[number].cancel()
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
            return log

        return asyncio.run(whole())

    return run


def test_who_comes_together_is_inside_together(play):
    assert play(("together", 0, 60), ("together", 20, 80)) == ["+0", "+1", "-0", "-1"]


def test_who_is_alone_waits_for_all_and_all_wait_for_him(play):
    log = play(("together", 0, 60), ("alone", 20, 60), ("together", 40, 10), ("alone", 30, 10))
    assert log == ["+0", "-0", "+1", "-1", "+3", "-3", "+2", "-2"]


def test_who_gives_up_waiting_leaves_the_gate_open(play):
    assert play(("together", 0, 150), ("alone", 10, 10), ("together", 20, 10), cancelled=(1,)) == [
        "+0",
        "+2",
        "-2",
        "-0",
    ]


def test_who_is_cancelled_inside_is_out(play):
    log = play(("alone", 0, 1000), ("together", 10, 10), cancelled=(0,))
    assert log == ["+0", "+1", "-1"]
