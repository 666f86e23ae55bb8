"""Which worker gets the next job: by kin, by load, and alone for suspects."""

import asyncio
from collections import Counter

import pytest

from kernelwright.errors import RefereeError
from kernelwright.execution.executor import IN_FLIGHT
from kernelwright.execution.slots import APART, MEETING, PASSED, REMEMBERED, WorkerSlot, WorkerSlots


@pytest.fixture
def play():
    """Run a scene with the seats of some hosts."""

    def run(scene, *hosts):
        async def whole():
            slots = WorkerSlots()
            for host in hosts:
                slots.add(WorkerSlot(host, f"node {host}"))
            return await asyncio.wait_for(scene(slots), 10)

        return asyncio.run(whole())

    return run


async def waits(task):
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return not task.done()


def test_jobs_are_spread_over_the_least_busy(play):
    async def scene(slots):
        return sorted([(await slots.take("")).host for _ in range(6)])

    assert play(scene, "a", "b", "c") == ["a", "a", "b", "b", "c", "c"]


def test_jobs_stay_with_who_knows_their_kin_until_it_has_enough(play):
    async def scene(slots):
        await slots.take("other")
        first = await slots.take("kin")
        taken = [await slots.take("kin") for _ in range(MEETING + 1)]
        return [slot is first for slot in taken]

    assert play(scene, "a", "b") == [True] * MEETING + [False]


def test_a_worker_knows_only_its_latest_kins(play):
    async def scene(slots):
        (slot,) = slots.all
        for n in range(REMEMBERED + 2):
            slots.give(await slots.take(f"kin {n}"))
        return list(slot.affinities)

    assert play(scene, "a") == [f"kin {n}" for n in range(2, REMEMBERED + 2)]


def test_more_jobs_than_there_is_room_for_wait_in_order(play):
    async def scene(slots):
        slot, *_ = [await slots.take("") for _ in range(IN_FLIGHT)]
        first, second = asyncio.create_task(slots.take("")), asyncio.create_task(slots.take(""))
        assert await waits(first)
        slots.give(slot)
        await first
        assert await waits(second)
        slots.add(WorkerSlot("b", "node b"))
        return (await second).host

    assert play(scene, "a") == "b"


def test_a_suspect_has_a_worker_for_itself_and_nobody_joins_it(play):
    async def scene(slots):
        busy = await slots.take("")
        alone = asyncio.create_task(slots.take("", alone=True))
        assert await waits(alone)
        slots.give(busy)
        assert (await alone) is busy
        other = asyncio.create_task(slots.take(""))
        assert await waits(other)
        slots.give(busy)
        return (await other).load

    assert play(scene, "a") == 1


def test_a_cancelled_wait_takes_no_seat(play):
    async def scene(slots):
        slot, *_ = [await slots.take("") for _ in range(IN_FLIGHT)]
        early, late = asyncio.create_task(slots.take("")), asyncio.create_task(slots.take(""))
        assert await waits(late)
        early.cancel()
        slots.give(slot)
        late.cancel()  # it has been granted a seat, and does not know yet
        for granted in (early, late):
            with pytest.raises(asyncio.CancelledError):
                await granted
        return slot.load

    assert play(scene, "a") == IN_FLIGHT - 1


def test_a_lost_seat_gets_no_jobs_and_may_be_given_back(play):
    async def scene(slots):
        lost = await slots.take("")
        slots.lose(lost)
        slots.lose(lost)
        waiting = asyncio.create_task(slots.take(""))
        slots.give(lost)
        assert await waits(waiting)
        slots.add(WorkerSlot("b", "node b"))
        return (await waiting).host

    assert play(scene, "a") == "b"


def test_a_fault_is_told_to_all_who_wait_until_there_is_a_seat_again(play):
    async def scene(slots):
        waiting = asyncio.create_task(slots.take(""))
        await asyncio.sleep(0)
        slots.fail(RefereeError("no room"))
        for job in (waiting, slots.take("")):
            with pytest.raises(RefereeError, match="no room"):
                await job
        slots.add(WorkerSlot("a", "node a"))
        return (await slots.take("")).host

    assert play(scene) == "a"


def test_a_suspect_gets_a_worker_whatever_else_comes(play):
    async def scene(slots):
        busy = [await slots.take("") for _ in range(IN_FLIGHT)]
        others = [asyncio.create_task(slots.take("")) for _ in range(3)]
        alone = asyncio.create_task(slots.take("", alone=True))
        for slot in busy:
            assert await waits(alone)
            slots.give(slot)
        assert not any(other.done() for other in others)
        slots.give(await alone)
        return [(await other).load for other in others]

    assert play(scene, "a") == [3, 3, 3]


def test_suspects_leave_most_workers_to_the_others(play):
    hosts, kept = range(2 * APART), 2

    async def scene(slots):
        for host in hosts:
            await slots.take(f"kin {host}")
        suspects = [asyncio.create_task(slots.take("", alone=True)) for _ in hosts]
        assert await waits(suspects[0])
        taken = [await slots.take("") for _ in range((len(hosts) - kept) * (IN_FLIGHT - 1))]
        assert await waits(asyncio.create_task(slots.take("")))
        return sorted(Counter(slot.host for slot in taken).values())

    assert play(scene, *hosts) == [IN_FLIGHT - 1] * (len(hosts) - kept)


def test_a_task_beside_a_backlog_has_its_turn(play):
    async def scene(slots):
        slot, *_ = [await slots.take("many") for _ in range(IN_FLIGHT)]
        many = [asyncio.create_task(slots.take("many")) for _ in range(50)]
        assert await waits(many[0])
        few = asyncio.create_task(slots.take("few"))
        assert await waits(few)
        while await waits(few):
            slots.give(slot)
        return sum(job.done() for job in many)

    assert play(scene, "a") <= PASSED + 1


def test_a_worker_goes_on_with_tasks_that_it_knows(play):
    async def scene(slots):
        full = [await slots.take(kin) for _ in range(IN_FLIGHT) for kin in ("here", "there")]
        assert full[0] is not full[1]
        waiting = {kin: asyncio.create_task(slots.take(kin)) for kin in ("there", "here")}
        assert await waits(waiting["here"])
        slots.give(full[0])
        return (await waiting["here"]) is full[0], waiting["there"].done()

    assert play(scene, "a", "b") == (True, False)


def test_idle_workers_take_as_many_suspects_as_there_are(play):
    async def scene(slots):
        return sorted([(await slots.take("", alone=True)).host for _ in range(APART)])

    assert play(scene, *range(APART)) == list(range(APART))
