"""A real Ray cluster on this machine: nodes that can be killed, and the processes that belong to it."""

import contextlib
import itertools
import os
import signal
import time
from pathlib import Path

HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
"""A dead node is noticed within seconds."""
SMALL = {"num_cpus": 1, "num_gpus": 1, "object_store_memory": 80 << 20}


class Nodes:
    """Two nodes beside a head without processors, so that either can be killed."""

    def __init__(self):
        from ray.cluster_utils import Cluster  # noqa: PLC0415  Ray may be missing

        self._numbers = itertools.count(2)
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                **SMALL,
                **self._address(),
                "num_cpus": 0,
                "num_gpus": 0,
                "include_dashboard": False,
                "_system_config": HEALTH,
            },
        )
        self.nodes = [self.cluster.add_node(wait=False, **SMALL, **self._address()) for _ in range(2)]
        self.cluster.wait_for_nodes()
        self.address = self.cluster.address

    def kill_one(self):
        """End the first node's raylet with SIGKILL; its processes find out by themselves."""
        node = self.nodes.pop(0)
        os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        self.killed = node

    def replace(self):
        """Another node instead of the one that was killed."""
        self.cluster.remove_node(self.killed, allow_graceful=False)
        self.nodes.append(self.cluster.add_node(**SMALL, **self._address()))

    def _address(self):
        """Of the next node, on loopback; so the driver, at another address, belongs to the head."""
        return {"node_ip_address": f"127.0.0.{next(self._numbers)}"}

    def close(self):
        self.cluster.shutdown()


def descendants(of=None):
    """Process ids below this process, with their command lines."""
    return {pid: line for pid, (_, line) in _family(of or os.getpid()).items()}


def _family(of):
    children, lines = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                pid = int(stat.parent.name)
                children.setdefault(int(parent), []).append(pid)
                lines[pid] = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    found, todo = {}, [of]
    while todo:
        above = todo.pop()
        for pid in children.get(above, ()):
            found[pid] = (above, lines[pid])
            todo.append(pid)
    return found


def workers(name):
    """Process ids of the workers that Ray's actors started; a warm referee of this process has workers of its own."""
    found = _family(os.getpid())
    actors = {pid for pid, (_, line) in found.items() if "ray::" in line}
    return sorted(pid for pid, (above, line) in found.items() if name in line and above in actors)


def gone(pids, limit_s=15.0):
    """Those of the processes that do not end in time."""
    last, left = time.monotonic() + limit_s, set(pids)
    while left and time.monotonic() < last:
        left = {pid for pid in left if _alive(pid)}
        time.sleep(0.05)
    return left


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
