"""Runs the tests that need a GPU, and goes on where the last call ended: `python benchmarks/gpu_tests.py --out FILE`.

A result is written the moment it is known. FILE holds one row a test; a test that passed on this commit is not run again,
one that failed is, after all others. A test is begun only if the time allows what it took before, on whatever device and
commit; one that is skipped leaves its row as it was. One that hangs ends the process, as does one that breaks it: its row says
so, and the same command goes on with the others. `--only PATTERN` takes the tests whose names it matches, and
`--first PATTERN` puts such tests first. `--keep-passed` takes over what passed on an earlier commit too: each row names the
commit that it passed on. `--workers N` runs as many tests side by side; whatever compares times takes turns by the device's
lock. `--gpus K` deals the workers to so many GPUs, each with a lock of its own. Files that test the clock itself or need the
whole memory (`ALONE`) come after all others, one by one, and so does what failed beside others, once more. On one H200 this
gained next to nothing (docs/log.md).
Exit code 0: every file of tests could be read, and every test that was chosen has passed.
"""

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from provenance import provenance_of
from pydantic import JsonValue

ROOT = Path(__file__).parents[1]
ALONE = ("test_gpu_clock", "test_gpu_field")
"""Files that test the clock itself, in whose figures would be what else keeps the host busy; and tasks of 2^32 elements."""
USUAL_S = 7.0
"""What a test takes of which nothing is known."""
HANGS_S = 240.0
"""After which a test hangs, or after four times as long as it took before: side by side, many wait for their turn."""
ENDED = "it ended the process, or never ended"
LOOK_S = 5.0
OPEN_TASKS = 40
"""Of all workers."""
Rows = dict[str, dict[str, JsonValue]]


class Continued:
    """A pytest plugin: chooses what is left, records each result, and stops when the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.out, self.only, self.first = Path(arguments.out), arguments.only, arguments.first
        self.share, self.workers, self.gpus = arguments.share, arguments.workers, arguments.gpus
        self.keep: bool = arguments.keep_passed
        self.end = time.monotonic() + arguments.seconds
        self.head: dict[str, JsonValue] = {}
        self.rows: Rows = {}
        self.stderr = os.dup(2)
        """Where a hanging test is told: pytest keeps what its tests write for their end."""
        self.before: Rows = {}
        """The row of the test that was begun last, as it was."""
        self.known_s: dict[str, float] = {}
        """What each test took in an earlier call, on whatever device and commit."""
        self.ran: set[str] = set()
        """Tests of which this process has a result."""
        self.unread: list[str] = []
        """Files that could not be collected."""
        self.chosen: list[str] = []
        self.collected = 0
        """Tests that need a GPU, chosen or not."""

    def open(self) -> None:
        """Ask the device who it is, take over the rows of the same commit and device, and the seconds of any."""
        if self.share is not None:
            told = json.loads(self.out.read_text())
            self.head, self.known_s, self.rows = told["head"], told["known_s"], told["rows"]
            return
        self.head = provenance_of("cuda")
        if self.out.exists():
            known = json.loads(self.out.read_text())
            rows = [{"commit": known["commit"], **row} for row in known["rows"]]
            self.known_s = {**known.get("known_s", {}), **{row["test"]: row["seconds"] for row in rows}}
            if _same(known, self.head):
                self.rows = {row["test"]: row for row in rows if self._counts(row)}

    def _counts(self, row: dict[str, JsonValue]) -> bool:
        return row["commit"] == self.head["commit"] or (self.keep and row["outcome"] == "passed")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is left: new tests first, then those that failed."""
        of_a_gpu = [i for i in items if i.get_closest_marker("gpu")]
        self.collected = len(of_a_gpu)
        wanted = [i for i in of_a_gpu if re.search(self.only, i.nodeid)]
        self.chosen = [i.nodeid for i in wanted]
        left = [i for i in wanted if self.rows.get(i.nodeid, {}).get("outcome") != "passed"]
        if self.share is not None:
            left = [i for i in left if not any(file in i.nodeid for file in ALONE)]
            mine = dealt([i.nodeid for i in left], self.known_s, self.workers)[self.share]
            left = [i for i in left if i.nodeid in mine]
        items[:] = sorted(left, key=lambda i: (i.nodeid in self.rows, not re.search(self.first, i.nodeid)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A row for each test: its call, or whatever went wrong before or after it."""
        if report.outcome == "skipped":
            self._forget(report.nodeid)
        if report.outcome == "failed" or (report.when, report.outcome) == ("call", "passed"):
            why = str(report.longrepr).replace(f"{ROOT}/", "")[-4000:] if report.outcome == "failed" else ""
            self._note(report.nodeid, report.outcome, round(report.duration, 2), why)

    def _begin(self, test: str) -> None:
        """Say what is true if this process does not live to say more."""
        known_s = self.known_s.get(test, USUAL_S)
        faulthandler.dump_traceback_later(max(HANGS_S, 4 * known_s), exit=True, file=self.stderr)
        self.before = {test: self.rows[test]} if test in self.rows else {}
        self._note(test, "failed", known_s, ENDED)

    def _forget(self, test: str) -> None:
        """A test that was begun and then skipped itself."""
        if self.rows.get(test, {}).get("why") == ENDED:
            del self.rows[test]
            self.rows |= self.before
            self.write()

    def _note(self, test: str, outcome: str, seconds: float, why: str) -> None:
        row = {"test": test, "outcome": outcome, "commit": self.head["commit"]}
        self.rows[test] = {**row, "seconds": seconds, "why": why}
        self.ran.add(test)
        self.write()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be read hinders no other, and is told at the end."""
        if report.failed:
            self.unread.append(report.nodeid)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin nothing that the time does not allow: a shorter test may still fit."""
        now = time.monotonic()
        if now > self.end:
            item.session.shouldstop = "the time is over; the same command goes on"
        if now + self.known_s.get(item.nodeid, USUAL_S) > self.end:
            pytest.skip("the time does not allow it")
        self._begin(item.nodeid)

    def pytest_runtest_teardown(self) -> None:
        """A test that ends does not hang."""
        faulthandler.cancel_dump_traceback_later()

    def take(self, file: Path) -> None:
        """Take over what a worker has written."""
        told = json.loads(file.read_text())
        if isinstance(told["rows"], list):  # it has written
            self.collected = told["tests"]
            self.rows |= {row["test"]: row for row in told["rows"]}
            self.write()

    def write(self) -> None:
        """The whole file, with its counts; of a worker, what it has run itself."""
        rows = [row for test, row in self.rows.items() if self.share is None or test in self.ran]
        counts = {name: sum(row["outcome"] == name for row in rows) for name in ("passed", "failed")}
        known_s = {test: seconds for test, seconds in self.known_s.items() if test not in self.rows}
        told = {**self.head, "tests": self.collected, **counts, "known_s": known_s, "rows": rows}
        whole = self.out.with_suffix(".new")
        whole.write_text(json.dumps(told, indent=1) + "\n")
        whole.replace(self.out)


def _same(known: dict[str, JsonValue], head: dict[str, JsonValue]) -> bool:
    parts = ("torch", "triton", "driver", "nvrtc")  # what decides how a kernel is built and run
    return known["device"] == head["device"] and all(
        known["versions"].get(part) == head["versions"].get(part)  # type: ignore[union-attr]
        for part in parts
    )


def dealt(tests: Iterable[str], known_s: dict[str, float], workers: int) -> list[set[str]]:
    """The tests for each worker, the longest first, each to the one that has least to do."""
    shares: list[set[str]] = [set() for _ in range(workers)]
    spent = [0.0] * workers
    for test in sorted(tests, key=lambda test: -known_s.get(test, USUAL_S)):
        least = spent.index(min(spent))
        shares[least].add(test)
        spent[least] += known_s.get(test, USUAL_S)
    return shares


def side_by_side(plugin: Continued) -> None:
    """Every worker's share in a process of its own; their results are taken over as they come."""
    with tempfile.TemporaryDirectory() as folder:
        own = [Path(folder) / f"{number}.json" for number in range(plugin.workers)]
        told = {"head": plugin.head, "known_s": plugin.known_s, "rows": plugin.rows}
        # The lock's file has the device's own number in its name: each GPU gets one.
        # All references together may have no more threads than one user.
        each = str(max(1, OPEN_TASKS // plugin.workers))
        environment = {"KERNELWRIGHT_DEVICE_LOCK": folder, "KERNELWRIGHT_OPEN_TASKS": each, **os.environ}
        command = [sys.executable, __file__, *sys.argv[1:], f"--seconds={plugin.end - time.monotonic()}"]
        children = []
        for number, file in enumerate(own):
            file.write_text(json.dumps(told))
            seen = {"CUDA_VISIBLE_DEVICES": str(number % plugin.gpus)} if plugin.gpus > 1 else {}
            share = [*command, f"--out={file}", f"--share={number}"]
            children.append(subprocess.Popen(share, env={**environment, **seen}))
        busy = True
        while busy:
            time.sleep(LOOK_S)
            busy = any(child.poll() is None for child in children)
            for file in own:
                plugin.take(file)


def main(arguments: argparse.Namespace) -> int:
    """Run, and print what failed and how much is left."""
    plugin = Continued(arguments)
    plugin.open()
    if arguments.share is None and arguments.workers > 1:
        side_by_side(plugin)
    options = ["-vv", "-m", "gpu", "-p", "no:cacheprovider", "--tb=short", "--continue-on-collection-errors"]
    pytest.main([str(ROOT / "tests/gpu"), *options], plugins=[plugin])
    plugin.write()
    rows = {name: plugin.rows[name]["outcome"] for name in plugin.chosen if name in plugin.rows}
    passed = sum(outcome == "passed" for outcome in rows.values())
    for name, outcome in rows.items():
        if outcome == "failed":
            sys.stdout.write(f"failed: {name}\n")
    sys.stdout.write(
        f"{passed} of {len(plugin.chosen)} passed, {len(rows) - passed} failed, {len(plugin.chosen) - len(rows)} left\n"
        + "".join(f"cannot be read: {file}\n" for file in plugin.unread)
    )
    return int(passed < len(plugin.chosen) or bool(plugin.unread))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=540.0, help="Begin no test after this long.")
    parser.add_argument("--only", default="", help="Only tests whose names this pattern matches.")
    parser.add_argument("--keep-passed", action="store_true", help="Take over what passed on an earlier commit.")
    parser.add_argument("--first", default="", help="Tests whose names this pattern matches come first.")
    parser.add_argument("--workers", type=int, default=1, help="Tests side by side.")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs that the workers take in turn.")
    parser.add_argument("--share", type=int, default=None, help=argparse.SUPPRESS)
    sys.exit(main(parser.parse_args()))
