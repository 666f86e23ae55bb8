"""Where jobs are done: by name, with a cure for what cannot work; Ray is not imported before it is needed."""

import asyncio
import subprocess
import sys

import pytest

from kernelwright.errors import MachineError, RefereeError, UsageError
from kernelwright.execution import cluster
from kernelwright.execution.executor import Place, Work
from kernelwright.execution.local import LocalExecutor
from kernelwright.execution.ray import RayExecutor
from kernelwright.execution.table import make_executor

WORK = Work(["-c", "pass"])


def test_each_place_has_its_executor():
    assert isinstance(make_executor(Place(), WORK), LocalExecutor)
    assert isinstance(make_executor(Place("ray", "127.0.0.1:6379"), WORK), RayExecutor)


@pytest.mark.parametrize(
    ("place", "fix"),
    [
        (Place("moon"), "must be one of local, ray"),
        (Place("local", "head:6379"), "add --execution ray"),
        (Place("ray", gpus="1"), "leave it out"),
    ],
)
def test_a_place_that_cannot_be_is_refused_with_its_cure(place, fix):
    with pytest.raises(UsageError, match=fix):
        make_executor(place, WORK)


def test_a_local_worker_sees_the_gpus_that_are_named(tmp_path):
    told = tmp_path / "told"
    script = f"import os, pathlib; pathlib.Path({str(told)!r}).write_text(os.environ['CUDA_VISIBLE_DEVICES'])"

    async def scene():
        executor = make_executor(Place(gpus="3"), Work(["-c", script]))
        with pytest.raises(RefereeError, match="ended"):
            await executor.submit(b"job")
        await executor.close()

    asyncio.run(scene())
    assert told.read_text() == "3"


def test_without_ray_the_cure_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    async def scene():
        executor = RayExecutor(WORK)
        for _ in range(2):
            with pytest.raises(MachineError, match=r"pip install 'kernelwright\[ray\]', or use --execution local"):
                await executor.submit(b"job")
        await executor.close()

    asyncio.run(scene())


def test_a_question_for_a_gpu_is_answered_here_where_no_cluster_is_named(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert cluster.ask_a_gpu_s_node(None, lambda: "sm_90") == "sm_90"


def test_a_cluster_s_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "head:1")
    assert cluster.Cluster(None).address == "head:1"
    assert cluster.Cluster("head:2").address == "head:2"


def test_nothing_imports_ray_before_it_is_needed():
    code = "import sys, kernelwright.api, kernelwright.execution.table; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class ScriptedRay:
    """A cluster with these nodes."""

    def __init__(self, *resources):
        self.resources = resources

    def nodes(self):
        return [
            {"NodeID": f"node {n}", "Alive": has is not None, "Resources": has or {}}
            for n, has in enumerate(self.resources)
        ]


@pytest.mark.parametrize(
    ("gpu", "room"), [(True, {"node 0": 8, "node 3": 1}), (False, {"node 0": 1, "node 2": 1, "node 3": 1})]
)
def test_a_gpu_is_room_for_one_worker_and_so_are_a_node_s_processors(gpu, room):
    at = cluster.Cluster("head:1")
    at.ray = ScriptedRay({"CPU": 64, "GPU": 8}, None, {"CPU": 4}, {"CPU": 2, "GPU": 1.5}, {"GPU": 0.5})
    assert at.room(gpu) == room
