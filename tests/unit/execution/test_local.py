"""Jobs on this machine: one at a time, in order, with their notes; a dead worker costs its job and no other."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from kernelwright.errors import RefereeError
from kernelwright.execution.local import LocalExecutor

WORKER = Path(__file__).with_name("fake_worker.py")


class Local:
    """An executor over the fake worker, and the notes that it passed on."""

    def __init__(self):
        self.notes = []
        self.executor = LocalExecutor([sys.executable, str(WORKER)], {"CHOSEN": "yes"}, self.notes.append)

    async def ask(self, text):
        return (await self.executor.submit(text.encode())).decode()


@pytest.fixture
def run():
    """Run a scene with an executor that is closed behind it."""

    def play(scene):
        async def whole():
            local = Local()
            try:
                return await scene(local)
            finally:
                await local.executor.close()

        return asyncio.run(whole())

    return play


def alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def soon(true, limit_s=10.0):
    end = time.monotonic() + limit_s
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def test_results_belong_to_their_jobs_however_many_wait(run):
    async def scene(local):
        return await asyncio.gather(*(local.ask(f"echo {n}") for n in range(20)))

    assert run(scene) == [str(n) for n in range(20)]


def test_one_worker_does_all_jobs_in_order(run):
    async def scene(local):
        return [await local.ask(f"echo {what}") for what in ("pid", "jobs", "pid", "jobs")]

    first, one, second, three = run(scene)
    assert first == second
    assert (one, three) == ("2", "4")


def test_jobs_never_overlap(run):
    async def scene(local):
        slow, quick = asyncio.create_task(local.ask("sleep 0.2")), asyncio.create_task(local.ask("echo jobs"))
        done, _ = await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
        return done == {slow}, await quick

    assert run(scene) == (True, "2")


def test_the_worker_gets_its_environment_beside_ours(run):
    assert run(lambda local: local.ask("echo variable")) == "yes"


def test_notes_are_delivered_before_the_result(run):
    async def scene(local):
        await local.ask("notes 3")
        return list(local.notes)

    assert run(scene) == ["note 0 é", "note 1 é", "note 2 é"]


@pytest.mark.parametrize(("job", "status"), [("exit 0", "0"), ("exit 3", "3"), ("die", "-9"), ("cut", "0")])
def test_a_worker_s_death_is_the_referee_s_trouble_and_the_next_job_has_another(run, job, status):
    async def scene(local):
        before = await local.ask("echo pid")
        with pytest.raises(RefereeError, match=rf"ended before it answered \(status {status}\)"):
            await local.ask(job)
        return before, await local.ask("echo pid"), await local.ask("echo 5")

    before, after, five = run(scene)
    assert before != after
    assert five == "5"


def test_those_who_wait_are_not_harmed_by_a_death(run):
    async def scene(local):
        jobs = [local.ask("echo 1"), local.ask("die"), local.ask("echo 2")]
        return await asyncio.gather(*jobs, return_exceptions=True)

    first, second, third = run(scene)
    assert (first, third) == ("1", "2")
    assert isinstance(second, RefereeError)


def test_a_cancelled_job_takes_its_worker_and_all_it_started_with_it(run):
    async def scene(local):
        worker = await local.ask("echo pid")
        job = asyncio.create_task(local.ask("children"))
        while not local.notes:
            await asyncio.sleep(0.01)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        gone = soon(lambda: not alive(worker) and not alive(local.notes[0]))
        return gone, await local.ask("echo 7")

    assert run(scene) == (True, "7")


def test_a_job_that_only_waited_is_cancelled_without_harm(run):
    async def scene(local):
        before = await local.ask("echo pid")
        slow = asyncio.create_task(local.ask("sleep 0.2"))
        waiting = asyncio.create_task(local.ask("echo 1"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await slow
        return before == await local.ask("echo pid")

    assert run(scene)


def test_a_job_cancelled_while_its_worker_starts_leaves_no_second_one(run):
    async def scene(local):
        for wait in (0, 0.001, 0.003, 0.01):
            job = asyncio.create_task(local.ask("sleep 1000"))
            await asyncio.sleep(wait)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            assert await local.ask(f"echo {wait}") == str(wait)

    run(scene)


def test_closing_gives_up_the_job_at_hand(run):
    async def scene(local):
        await local.ask("echo 1")
        job = asyncio.create_task(local.ask("sleep 1000"))
        await asyncio.sleep(0.05)
        await local.executor.close()
        with pytest.raises(RefereeError):
            await job

    run(scene)


def test_closing_ends_the_worker_and_is_safe_twice(run):
    async def scene(local):
        worker = await local.ask("echo pid")
        await local.executor.close()
        await local.executor.close()
        return soon(lambda: not alive(worker))

    assert run(scene)


def test_an_executor_that_was_never_used_closes(run):
    async def scene(local):
        return local.notes

    assert run(scene) == []


def test_a_worker_that_cannot_be_started_is_told(tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit(9)")

    async def scene():
        executor = LocalExecutor([sys.executable, str(tmp_path / "broken.py")], {})
        with pytest.raises(RefereeError, match="ended before it answered"):
            await executor.submit(b"job")
        await executor.close()

    asyncio.run(scene())
