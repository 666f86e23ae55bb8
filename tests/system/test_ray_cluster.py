"""Jobs on a real Ray cluster of two nodes: whatever is killed, each job is answered, once.

A scripted worker shows which job is done where and how often; real candidates are judged in test_ray_candidates.
"""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ray_cluster import descendants, gone, workers

from kernelwright.errors import MachineError, RefereeError
from kernelwright.execution import ray as pool
from kernelwright.execution.cluster import ask_a_gpu_s_node
from kernelwright.execution.executor import Work
from kernelwright.execution.ray import LOSSES, RayExecutor

WORKER = Path(__file__).parents[1] / "unit" / "execution" / "fake_worker.py"


class Remote:
    """An executor over the cluster's workers, and the notes that it passed on."""

    def __init__(self, address, greeting=b"echo hello", gpu=False):
        self.notes = []
        self.executor = RayExecutor(Work([str(WORKER)], {"CHOSEN": "yes"}, gpu, greeting), address)

    async def ask(self, text):
        return (await self.executor.submit(text.encode(), self.notes.append)).decode()

    def begin(self, *texts):
        return [asyncio.create_task(self.ask(text)) for text in texts]

    async def everywhere(self, what):
        """What each of the two workers has to say."""
        while len(told := set(await asyncio.gather(*(self.ask(f"echo {what}") for _ in range(8))))) < 2:
            await asyncio.sleep(0.1)
        return sorted(map(int, told))


@pytest.fixture
def run(nodes, monkeypatch):
    """Run a scene with an executor that is closed behind it; nothing of it is left."""
    monkeypatch.setattr(pool, "SURVEY_S", 0.3)

    def play(scene, **more):
        async def whole():
            remote = Remote(nodes.address, **more)
            try:
                return await asyncio.wait_for(scene(remote), 25)
            finally:
                seen = workers(WORKER.name)
                await remote.executor.close()
                assert not gone(seen), "a worker outlived its executor"

        return asyncio.run(whole())

    return play


def test_jobs_are_done_once_on_both_nodes_and_notes_are_passed_on(run, tmp_path):
    files = [tmp_path / str(n) for n in range(12)]

    async def scene(remote):
        assert len(await remote.everywhere("pid")) == 2
        jobs = [f"echo {n}" for n in range(40)] + [f"done {file}" for file in files] + ["notes 3"]
        return await asyncio.gather(*map(remote.ask, jobs)), await remote.ask("echo variable"), remote.notes

    told, variable, notes = run(scene)
    assert told == [*map(str, range(40)), *map(str, files), "3"]
    assert [file.read_text() for file in files] == ["done\n"] * 12
    assert variable == "yes"
    assert notes == ["note 0 é", "note 1 é", "note 2 é"]


@pytest.mark.parametrize(
    "which", [pytest.param("pid", id="worker"), pytest.param("parent", id="actor", marks=pytest.mark.matrix)]
)
def test_what_is_killed_in_the_middle_costs_no_job(run, which):
    async def scene(remote):
        victim, _ = await remote.everywhere(which)
        jobs = remote.begin(*(f"sleep 0.{n:03}" for n in range(200, 240)))
        await asyncio.sleep(0.1)
        os.kill(victim, signal.SIGKILL)
        return await asyncio.gather(*jobs), victim in await remote.everywhere(which)

    told, still_there = run(scene)
    assert told == [f"0.{n:03}" for n in range(200, 240)]
    assert not still_there


def test_a_node_that_dies_costs_no_job_and_one_that_comes_gets_some(run, nodes):
    async def scene(remote):
        await remote.everywhere("pid")
        jobs = remote.begin(*(f"sleep 0.{n:03}" for n in range(200, 240)))
        await asyncio.sleep(0.1)
        nodes.kill_one()
        told = await asyncio.gather(*jobs)
        nodes.replace()  # in this thread: it sets signal handlers
        return told, await remote.everywhere("pid")

    told, both = run(scene)
    assert told == [f"0.{n:03}" for n in range(200, 240)]
    assert len(both) == 2


@pytest.mark.matrix
def test_a_job_that_kills_its_worker_or_its_actor_is_found_out_and_the_others_are_answered(run, tmp_path):
    async def scene(remote):
        others = [f"done {tmp_path / str(n)}" for n in range(6)]
        jobs = remote.begin("late 0.1", *others, "orphan 0.1")
        return await asyncio.gather(*jobs, return_exceptions=True)

    worse, *others, worst = run(scene)
    assert isinstance(worse, RefereeError)
    assert "the second time no other job was there" in str(worse)
    assert others == [str(tmp_path / str(n)) for n in range(6)]
    assert isinstance(worst, RefereeError)
    assert f"{LOSSES} workers were lost while they were at this job" in str(worst)


@pytest.mark.matrix
def test_a_cancelled_job_ends_at_its_node(run):
    async def scene(remote):
        (job,) = remote.begin("child")
        while not remote.notes:
            await asyncio.sleep(0.01)
        before = await remote.everywhere("pid")
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        left = await asyncio.to_thread(gone, [int(remote.notes[0])])
        return left, before == await remote.everywhere("pid")

    assert run(scene) == (set(), True)


@pytest.mark.matrix
def test_a_worker_that_needs_a_gpu_sees_the_one_that_ray_gave_it(run, nodes):
    """The nodes say that they have one each; nothing here uses it."""
    assert run(lambda remote: remote.ask("echo gpu"), gpu=True) == "0"


@pytest.mark.matrix
def test_a_node_with_a_gpu_is_asked_also_while_all_gpus_are_held(run, nodes):
    async def scene(remote):
        await remote.everywhere("pid")
        asked = (lambda: os.environ.get("CUDA_VISIBLE_DEVICES", "all of them"), lambda: None)
        return [await asyncio.to_thread(ask_a_gpu_s_node, nodes.address, each) for each in asked]

    assert run(scene, gpu=True) == ["all of them", None]


def test_a_second_command_gets_its_share_between_the_jobs_of_the_first(run, nodes, tmp_path):
    async def scene(remote):
        both, late = await remote.everywhere("pid"), Remote(nodes.address)
        files = (tmp_path / str(number) for number in itertools.count())

        async def at_work(until):
            done = []
            while not until.is_set():
                done.append(await remote.ask(f"done {next(files)}"))
            return done

        until = asyncio.Event()
        first = [asyncio.create_task(at_work(until)) for _ in range(20)]
        try:
            second = await asyncio.gather(*late.begin(*["echo pid"] * 8))
        finally:
            until.set()
            await late.executor.close()
        done = [each for job in first for each in await job]
        return both, done, second, await remote.everywhere("pid")

    both, done, second, after = run(scene)
    assert [Path(file).read_text() for file in done] == ["done\n"] * len(done), "no job is ended for it"
    assert len(set(second)) == 1, "one of two workers"
    assert int(second[0]) not in both
    assert len(after) == 2, "it is given back"


COMMAND = """
import asyncio, sys
from kernelwright.execution import ray as pool
from kernelwright.execution.executor import Work
pool.SURVEY_S = 0.3

async def main():
    executor = pool.RayExecutor(Work([sys.argv[1]], greeting=b"echo hello"), sys.argv[2])
    await executor.submit(b"echo 1")
    print("at work", flush=True)
    await asyncio.gather(*(executor.submit(b"sleep 0.2") for _ in range(9999)))

asyncio.run(main())
"""


def test_a_command_that_is_killed_leaves_all_to_the_others_its_board_included(run, nodes):
    async def scene(remote):
        words = [sys.executable, "-c", COMMAND, str(WORKER), nodes.address]
        other = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
        await other.stdout.readline()
        first = set(await asyncio.gather(*remote.begin(*["echo pid"] * 8)))
        other.kill()
        await other.wait()
        return first, await remote.everywhere("pid")

    first, after = run(scene)
    assert len(first) == 1, "the other has jobs for both"
    assert int(*first) in after


@pytest.mark.matrix
def test_workers_that_are_not_alike_do_not_work_together(run):
    async def scene(remote):
        told = set(await asyncio.gather(*(remote.ask("echo pid") for _ in range(12))))
        return told, remote.notes

    told, notes = run(scene, greeting=b"echo pid")
    assert len(told) == 1
    assert len(notes) == 1
    assert "is not like the others" in notes[0]


@pytest.mark.matrix
def test_closing_in_the_middle_answers_every_job(run):
    async def scene(remote):
        await remote.everywhere("pid")
        jobs = remote.begin(*["sleep 1000"] * 20)
        await asyncio.sleep(0.1)
        await remote.executor.close()
        return {type(answer) for answer in await asyncio.gather(*jobs, return_exceptions=True)}

    assert run(scene) == {RefereeError}


def test_a_worker_that_cannot_be_started_is_told_with_its_nodes(nodes, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "SURVEY_S", 0.3)
    (tmp_path / "broken.py").write_text("raise SystemExit(9)")

    async def scene():
        executor = RayExecutor(Work([str(tmp_path / "broken.py")], greeting=b"x"), nodes.address)
        try:
            with pytest.raises(
                RefereeError, match=r"no worker for the jobs: node .*ended before it answered \(status 9\)"
            ):
                await asyncio.wait_for(executor.submit(b"job"), 30)
        finally:
            await executor.close()

    asyncio.run(scene())


def test_a_cluster_that_is_not_there_is_told_with_its_cure(ray_here):
    async def scene():
        executor = RayExecutor(Work([str(WORKER)]), "127.0.0.1:1")
        with pytest.raises(MachineError, match=r"no Ray cluster answers at '127.0.0.1:1'.*check the address"):
            await executor.submit(b"job")
        await executor.close()

    asyncio.run(scene())


@pytest.mark.matrix
def test_without_an_address_a_cluster_is_started_and_ended_here(ray_here, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    async def scene():
        remote = Remote(None)
        try:
            return await remote.ask("echo 5"), descendants()
        finally:
            await remote.executor.close()

    before = set(descendants())
    told, during = asyncio.run(scene())
    assert told == "5"
    started = set(during) - before
    assert len(started) > 2
    assert not gone(started)
