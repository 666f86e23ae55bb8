"""Runs the tests that need a GPU, and goes on where the last call ended: `python benchmarks/gpu_tests.py --out FILE`.

A result is written the moment it is known. FILE holds one row a test; a test that passed on this commit is not run again,
one that failed is, after all others. `--only TEXT` takes the tests whose names contain TEXT, `--first TEXT` puts them first.
`--keep-passed` takes over what passed on an earlier commit too: each row names the commit that it passed on.
Exit code 0: every test that was chosen has passed.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import pytest
from provenance import provenance_of
from pydantic import JsonValue

ROOT = Path(__file__).parents[1]


class Continued:
    """A pytest plugin: chooses what is left, records each result, and stops when the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.out, self.only, self.first = Path(arguments.out), arguments.only, arguments.first
        self.keep: bool = arguments.keep_passed
        self.end = time.monotonic() + arguments.seconds
        self.head: dict[str, JsonValue] = {}
        self.rows: dict[str, dict[str, JsonValue]] = {}
        self.chosen: list[str] = []

    def open(self) -> None:
        """Ask the device who it is, and take over the rows of an earlier call on the same commit and device."""
        self.head = provenance_of("cuda")
        if self.out.exists():
            known = json.loads(self.out.read_text())
            if _same(known, self.head):
                rows = [{"commit": known["commit"], **row} for row in known["rows"]]
                self.rows = {row["test"]: row for row in rows if self._counts(row)}

    def _counts(self, row: dict[str, JsonValue]) -> bool:
        return row["commit"] == self.head["commit"] or (self.keep and row["outcome"] == "passed")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what is left: new tests first, then those that failed."""
        wanted = [i for i in items if i.get_closest_marker("gpu") and self.only in i.nodeid]
        self.chosen = [i.nodeid for i in wanted]
        left = [i for i in wanted if self.rows.get(i.nodeid, {}).get("outcome") != "passed"]
        items[:] = sorted(left, key=lambda i: (i.nodeid in self.rows, self.first not in i.nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A row for each test: its call, or whatever went wrong before or after it."""
        if report.when == "call" or report.outcome != "passed":
            why = str(report.longrepr).replace(f"{ROOT}/", "")[-4000:] if report.outcome == "failed" else ""
            row = {"test": report.nodeid, "outcome": report.outcome, "commit": self.head["commit"]}
            self.rows[report.nodeid] = {**row, "seconds": round(report.duration, 2), "why": why}
            self.write()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin nothing that the time does not allow."""
        if time.monotonic() > self.end:
            item.session.shouldstop = "the time is over; the same command goes on"
            pytest.skip("the time is over")

    def write(self) -> None:
        """The whole file, with its counts."""
        rows = [row for row in self.rows.values() if row["outcome"] != "skipped"]
        counts = {name: sum(row["outcome"] == name for row in rows) for name in ("passed", "failed")}
        told = {**self.head, "chosen": len(self.chosen), **counts, "rows": rows}
        self.out.write_text(json.dumps(told, indent=1) + "\n")


def _same(known: dict[str, JsonValue], head: dict[str, JsonValue]) -> bool:
    parts = ("torch", "triton", "driver", "nvrtc")  # what decides how a kernel is built and run
    return known["device"] == head["device"] and all(
        known["versions"].get(part) == head["versions"].get(part)  # type: ignore[union-attr]
        for part in parts
    )


def main(arguments: argparse.Namespace) -> int:
    """Run, and print what failed and how much is left."""
    plugin = Continued(arguments)
    plugin.open()
    pytest.main([str(ROOT / "tests/gpu"), "-vv", "-m", "gpu", "-p", "no:cacheprovider", "--tb=short"], plugins=[plugin])
    plugin.write()
    rows = {name: plugin.rows[name]["outcome"] for name in plugin.chosen if name in plugin.rows}
    passed = sum(outcome == "passed" for outcome in rows.values())
    for name, outcome in rows.items():
        if outcome == "failed":
            sys.stdout.write(f"failed: {name}\n")
    sys.stdout.write(
        f"{passed} of {len(plugin.chosen)} passed, {len(rows) - passed} failed, {len(plugin.chosen) - len(rows)} left\n"
    )
    return int(passed < len(plugin.chosen))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=540.0, help="Begin no test after this long.")
    parser.add_argument("--only", default="", help="Only tests whose names contain this.")
    parser.add_argument("--keep-passed", action="store_true", help="Take over what passed on an earlier commit.")
    parser.add_argument("--first", default="", help="Tests whose names contain this come first.")
    sys.exit(main(parser.parse_args()))
