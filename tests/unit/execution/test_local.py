"""Jobs on this machine: several at a time; a job that ends its worker is found out, and costs no other its result."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from kernelwright.errors import RefereeError
from kernelwright.execution.executor import IN_FLIGHT, Work
from kernelwright.execution.local import LocalExecutor

WORKER = Path(__file__).with_name("fake_worker.py")


class Local:
    """An executor over the fake worker, and the notes that it passed on."""

    def __init__(self, patience_s):
        self.notes = []
        self.executor = LocalExecutor(Work([str(WORKER)], {"CHOSEN": "yes"}), patience_s)

    async def ask(self, text):
        return (await self.executor.submit(text.encode(), self.notes.append)).decode()

    def begin(self, text):
        return asyncio.create_task(self.ask(text))

    async def noted(self, count=1):
        while len(self.notes) < count:
            await asyncio.sleep(0.01)


@pytest.fixture
def run():
    """Run a scene with an executor that is closed behind it."""

    def play(scene, patience_s=0.3):
        async def whole():
            local = Local(patience_s)
            try:
                return await asyncio.wait_for(scene(local), 60)
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
        return await asyncio.gather(*(local.ask(f"echo {n}") for n in range(50)))

    assert run(scene) == [str(n) for n in range(50)]


def test_a_worker_s_temporary_files_end_with_it_however_it_ends(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def scene(local):
        pid = int(await local.ask("echo pid"))
        (folder,) = tmp_path.iterdir()
        assert f"TMPDIR={folder}" in Path(f"/proc/{pid}/environ").read_text().split("\0")
        (folder / "left").touch()
        os.kill(pid, signal.SIGKILL)
        assert await asyncio.to_thread(soon, lambda: not folder.exists())
        await local.ask("echo pid")
        return len(list(tmp_path.iterdir()))

    assert run(scene) == 1
    assert list(tmp_path.iterdir()) == []


def test_one_worker_does_all_jobs(run):
    async def scene(local):
        return [await local.ask(f"echo {what}") for what in ("pid", "jobs", "pid", "jobs")]

    first, one, second, three = run(scene)
    assert first == second
    assert (one, three) == ("2", "4")


def test_jobs_overlap_and_are_answered_as_they_are_done(run):
    async def scene(local):
        slow, quick = local.begin("sleep 0.5"), local.begin("echo 1")
        done, _ = await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
        await slow
        return done == {quick}

    assert run(scene)


def test_no_more_jobs_are_at_a_worker_than_it_does_at_once(run):
    async def scene(local):
        await asyncio.gather(*(local.ask("sleep 0.05") for _ in range(3 * IN_FLIGHT)))
        return await local.ask("echo most")

    assert 1 < int(run(scene)) <= IN_FLIGHT


def test_the_worker_gets_its_environment_beside_ours(run):
    assert run(lambda local: local.ask("echo variable")) == "yes"


def test_notes_go_to_their_job_s_listener_before_the_result(run):
    async def scene(local):
        heard = {count: [] for count in (1, 2, 3)}
        jobs = [local.executor.submit(f"notes {count}".encode(), told.append) for count, told in heard.items()]
        await asyncio.gather(*jobs)
        return heard

    assert run(scene) == {count: [f"note {n} é" for n in range(count)] for count in (1, 2, 3)}


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


def test_a_job_that_raises_in_the_worker_itself_ends_it_and_is_not_waited_for_for_ever(run, capfd):
    async def scene(local):
        with pytest.raises(RefereeError, match="ended before it answered"):
            await local.ask("fault")
        return await local.ask("echo 5")

    assert run(scene) == "5"
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_death_that_does_not_happen_again_costs_nothing(run, tmp_path):
    assert run(lambda local: local.ask(f"once {tmp_path / 'first'}")) == str(tmp_path / "first")


def test_the_job_that_kills_workers_is_found_out_and_the_others_are_answered(run):
    async def scene(local):
        jobs = [local.ask("sleep 0.2"), local.ask("late 0.1"), *(local.ask(f"echo {n}") for n in range(12))]
        jobs += [local.ask("late 0.1"), local.ask("sleep 0.3")]
        return await asyncio.gather(*jobs, return_exceptions=True)

    found = run(scene)
    assert [n for n, answer in enumerate(found) if isinstance(answer, RefereeError)] == [1, 14]
    assert [found[0], *found[2:14], found[15]] == ["0.2", *map(str, range(12)), "0.3"]


def test_suspects_are_alone(run):
    async def scene(local):
        jobs = [local.ask(job) for job in ("late 0.1", "sleep 0.2", "sleep 0.21", "sleep 0.22")]
        answers = await asyncio.gather(*jobs, return_exceptions=True)
        assert sum(isinstance(answer, RefereeError) for answer in answers) == 1
        return await local.ask("echo most")

    assert run(scene) == "1", "the last worker met the suspects one after another"


def test_a_cancelled_job_s_processes_end_and_the_worker_goes_on_with_the_others(run):
    async def scene(local):
        worker = await local.ask("echo pid")
        job, other = local.begin("child"), local.begin("sleep 0.5")
        await local.noted()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert await asyncio.to_thread(soon, lambda: not alive(local.notes[0]), 0.25), "before the other is done"
        return await other, worker == await local.ask("echo pid")

    assert run(scene, patience_s=20.0) == ("0.5", True)


def test_a_job_that_does_not_stop_when_cancelled_takes_its_worker_and_all_it_started_with_it(run):
    async def scene(local):
        worker = await local.ask("echo pid")
        job = local.begin("children")
        await local.noted()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        gone = await asyncio.to_thread(soon, lambda: not alive(worker) and not alive(local.notes[0]))
        return gone, await local.ask("echo 7")

    assert run(scene) == (True, "7")


def test_the_others_of_a_worker_that_was_ended_for_a_cancelled_job_are_done_anew_and_answered_once(run, tmp_path):
    async def scene(local):
        job = local.begin("children")
        others = [local.begin(f"sleep 0.{n}5") for n in range(4, 8)]
        await local.noted()
        quick = await local.ask(f"done {tmp_path / 'log'}")
        job.cancel()
        return quick, await asyncio.gather(*others), await local.ask("echo most")

    quick, others, most = run(scene)
    assert quick == str(tmp_path / "log")
    assert others == ["0.45", "0.55", "0.65", "0.75"]
    assert (tmp_path / "log").read_text() == "done\n", "what was answered is not done again"
    assert int(most) > 1, "innocent jobs need not be alone"


def test_a_job_that_only_waited_is_cancelled_without_harm(run):
    async def scene(local):
        before = await local.ask("echo pid")
        slow = [local.begin("sleep 0.2") for _ in range(IN_FLIGHT)]
        waiting = local.begin("echo 1")
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(*slow)
        return before == await local.ask("echo pid")

    assert run(scene)


def test_a_job_cancelled_while_its_worker_starts_leaves_no_second_one(run):
    async def scene(local):
        for wait in (0, 0.001, 0.003, 0.01):
            job = local.begin("sleep 1000")
            await asyncio.sleep(wait)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            assert await local.ask(f"echo {wait}") == str(wait)

    run(scene)


def test_closing_gives_up_the_jobs_at_hand_and_those_that_wait(run):
    async def scene(local):
        await local.ask("echo 1")
        jobs = [local.begin("sleep 1000") for _ in range(IN_FLIGHT + 3)]
        await asyncio.sleep(0.05)
        await local.executor.close()
        answers = await asyncio.gather(*jobs, return_exceptions=True)
        return [type(answer) for answer in answers]

    assert run(scene) == [RefereeError] * (IN_FLIGHT + 3)


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


def test_a_loop_that_ends_without_closing_leaves_no_worker():
    local = Local(0.3)

    async def scene():
        job = local.begin("child")
        await local.noted()
        job.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job
        return await local.ask("echo pid")

    worker = asyncio.run(scene())
    assert soon(lambda: not alive(worker) and not alive(local.notes[0]))


def test_a_worker_that_cannot_be_started_is_told(tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit(9)")

    async def scene():
        executor = LocalExecutor(Work([str(tmp_path / "broken.py")]))
        with pytest.raises(RefereeError, match="ended before it answered"):
            await executor.submit(b"job")
        await executor.close()

    asyncio.run(scene())
