"""A Ray cluster: joined or started, asked how many workers it has room for, and left as it was found.

A GPU is room for one worker. Where workers need no GPU, a node's processors together are room for one, because two
workers that share them would disturb each other's clocks. Ray itself is imported when it is first needed.
"""

import contextlib
import importlib
import logging
import os
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

from kernelwright.errors import MachineError
from kernelwright.execution.board import Board, Grant, Report

QUIET = {
    # Nothing is told to anybody outside.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray's processes are nice by default, and a clock that others go before is no clock.
    "RAY_worker_niceness": "0",
    # Its answer from a later version, without the warning of this one: workers without a GPU see those that are there.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Settings of a cluster that is started here; a cluster that runs already has its own."""
STORE_BYTES = 128 << 20
"""Shared memory of a cluster that is started here: jobs and results are small."""
ANSWER_S, ASK_S = 5.0, 60.0
"""How long a cluster may take to answer at all, and a node of its a question."""
BOARD = {"name": "board", "namespace": "kernelwright"}
"""The one actor that commands share; when its maker ends, the next command to report makes another."""

Ray = Any
"""The module `ray`, which may be missing."""


def find_ray() -> Ray:
    """The module.

    Raises:
        MachineError: it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MachineError(
            f"execution 'ray' needs the package ray, which cannot be imported here ({error}): "
            "pip install 'kernelwright[ray]', or use --execution local"
        ) from None


class Cluster:
    """A connection to a cluster. Its functions block for up to seconds."""

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        """The address of its head; None: a cluster is started here."""
        self._ours = False
        self._lock = threading.Lock()
        self.ray: Ray = None
        self._board: Any = None
        """The board's actor, which lives as long as its maker keeps this."""

    def join(self) -> Ray:
        """Connect, or start a cluster on this machine; a connection that this process has already is used as it is.

        Raises:
            MachineError: Ray is missing, or nothing answers at the address.
        """
        with self._lock:
            return self._join()

    def _join(self) -> Ray:
        self.ray = ray = find_ray()
        if ray.is_initialized():
            return ray
        there = self.address
        self._must_answer()
        settings = {} if there else {"include_dashboard": False, "object_store_memory": STORE_BYTES}
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        try:
            ray.init(address=there or "local", log_to_driver=False, logging_level=logging.ERROR, **settings)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = f"the Ray cluster at {there!r} could not be joined" if there else "Ray could not be started here"
            raise MachineError(
                f"{where} ({error}): every node needs the same versions of Python and ray, and the same token, "
                "with RAY_AUTH_MODE=token"
            ) from None
        self._ours = True
        return ray

    def _must_answer(self) -> None:
        """Where nobody listens Ray itself would try for minutes."""
        found = re.fullmatch(r"(?:ray://)?([^/:]+|\[[0-9a-f:]+\]):(\d+)", self.address or "")
        if found:
            try:
                socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=ANSWER_S).close()
            except (OSError, OverflowError) as error:
                raise MachineError(
                    f"no Ray cluster answers at {self.address!r} ({error}): check the address, which the head prints "
                    "(`ray start --head`); a run without one starts a cluster on this machine"
                ) from None

    def room(self, gpu: bool) -> dict[str, int]:
        """For how many workers each node is, by the node's id."""
        nodes = {node["NodeID"]: node["Resources"] for node in self.ray.nodes() if node["Alive"]}
        if gpu:
            return {node: int(has.get("GPU", 0)) for node, has in nodes.items() if has.get("GPU", 0) >= 1}
        return {node: 1 for node, has in nodes.items() if has.get("CPU", 0) >= 1}

    def needs(self, node: str, gpu: bool) -> dict[str, Any]:
        """What Ray must set aside for a worker on a node, as options of an actor."""
        has: dict[str, float] = next((n["Resources"] for n in self.ray.nodes() if n["NodeID"] == node), {})
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        place = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        shares = {"num_gpus": 1, "num_cpus": 0} if gpu else {"num_cpus": has.get("CPU", 1)}
        return {"scheduling_strategy": place, **shares}

    def report(self, report: Report) -> Grant | None:
        """Tell the commands' board; None: it does not answer, be it that it ended with its maker a moment ago."""
        with contextlib.suppress(self.ray.exceptions.RayError, ValueError):
            if self._board is None:
                self._board = self.ray.remote(Board).options(**BOARD, get_if_exists=True, num_cpus=0).remote()
            return Grant(**self.ray.get(self._board.report.remote(report._asdict()), timeout=ANSWER_S))
        self._board = None
        return None

    def seen(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The nodes that are there, as Ray has them, and a `board.Line` for each command that is at work on them."""
        nodes = [node for node in self.ray.nodes() if node["Alive"]]
        with contextlib.suppress(self.ray.exceptions.RayError, ValueError):
            return nodes, self.ray.get(self.ray.get_actor(**BOARD).lines.remote(), timeout=ANSWER_S)
        return nodes, []

    def unreport(self, name: str) -> None:
        """That report's command is at its end."""
        board, self._board = self._board, None
        if board is not None:
            with contextlib.suppress(self.ray.exceptions.RayError, ValueError):
                self.ray.get(board.leave.remote(name), timeout=ANSWER_S)

    def leave(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        with self._lock:  # somebody may be joining just now
            if self._ours and self.ray.is_initialized():
                self.ray.shutdown()
            self._ours = False


def ask_a_gpu_s_node(address: str | None, question: Callable[[], str | None]) -> str | None:
    """Have a process beside a GPU answer, free or not; None where there is none. Without a cluster this process answers.

    Raises:
        MachineError: the cluster does not answer, or none of its nodes with a GPU does.
    """
    cluster = Cluster(address)
    if cluster.address is None:
        return question()
    ray = cluster.join()
    try:
        node = next(iter(cluster.room(gpu=True)), None)
        if node is None:
            return None
        needs = {**cluster.needs(node, gpu=True), "num_gpus": 0}
        answer = ray.remote(_seeing_gpus).options(**needs).remote(question)
        with contextlib.suppress(ray.exceptions.GetTimeoutError):
            return str(found) if (found := ray.get(answer, timeout=ASK_S)) is not None else None
        ray.cancel(answer, force=True)
        raise MachineError(
            f"no node of the cluster at {cluster.address} answered in {ASK_S:.0f} s: name the target, --target sm_90"
        )
    finally:
        cluster.leave()


def _seeing_gpus(question: Callable[[], str | None]) -> str | None:
    """The answer of a process that holds no GPU, and from which Ray would hide them."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    return question()
