"""The long matrix of tests: runs the files whose part is due, what passed longest ago first, and records each that passes.

    python .ci/matrix.py due                            names the files that are due, in that order
    python .ci/matrix.py run [--seconds N] [--longest N] [FILE ...]
                                                        runs those, or the named ones, until the time is over

A file is due where code, tests or tasks have changed since it passed. It is recorded in `tests/matrix.json` at once, so that
the next run goes on where this one was cut. A file that was begun is finished, so that one which is known to take more than
`--longest` seconds is only ever begun as the first: it comes to that as what is older passes. The tree must be committed: a
record names the commit.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
RECORD = TESTS / "matrix.json"
MARKS = ("pytest.mark.matrix", "from lanes import")
"""A file with one of these has tests that only `make test-all` runs."""
READ_BY_TESTS = (
    "src",
    "tests",
    "tasks",
    "examples",
    "benchmarks/*.py",
    "constraints.txt",
    "pyproject.toml",
    ":!tests/*.json",
)
"""What a test may depend on, as git names it."""
NOTHING_CHOSEN = 5
"""pytest's exit code where no test has the marks."""


def main(arguments: list[str]) -> int:
    """Answer a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("due")
    running = verbs.add_parser("run")
    running.add_argument("--seconds", type=float, default=float("inf"))
    running.add_argument("--longest", type=float, default=float("inf"))
    running.add_argument("files", nargs="*")
    asked = parser.parse_args(arguments)
    if asked.verb == "due":
        sys.stdout.writelines(f"{name}\n" for name in due(recorded()))
        return 0
    if asked.seconds <= 0:
        parser.error(f"--seconds {asked.seconds:.0f}: the matrix needs time")
    return run(asked.files, asked.seconds, asked.longest)


def run(files: list[str], seconds: float, longest: float = float("inf")) -> int:
    """Run what is due or named, as long as there is time; 1 where one failed or the tree is not committed."""
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RECORD.relative_to(ROOT)}"):
        sys.stderr.write("not run: a record names a commit, so that the tree must be committed\n")
        return 1
    known, end = recorded(), time.monotonic() + seconds
    wanted, left = files or due(known), []
    begun = failed = 0
    for name in wanted:
        if time.monotonic() >= end or (begun and known.get(name, {}).get("seconds", 0) > longest):
            left.append(name)
            continue
        begun += 1
        sys.stdout.write(f"{begun} of {len(wanted)}: {name}: ")
        sys.stdout.flush()
        took = passed(name)
        sys.stdout.write("failed\n" if took is None else f"passed in {took:.0f} s\n")
        failed += took is None
        if took is not None:
            known[name] = {"commit": git("rev-parse", "HEAD"), "date": now(), "seconds": round(took, 1)}
            write(known)
    sys.stdout.write(
        f"of the long matrix {begun - failed} of {len(wanted)} files that are due passed, {failed} failed\n"
    )
    sys.stdout.writelines(f"due, and left for the next run: {name}\n" for name in left)
    return int(failed > 0)


def passed(name: str) -> float | None:
    """Seconds that a file's part of the matrix took; None: it failed. Tests that compare times come last, one by one."""
    start = time.monotonic()
    for marks, more in (("matrix and not quiet", ["--numprocesses", "2"]), ("matrix and quiet", [])):
        command = [sys.executable, "-m", "pytest", name, "-q", "--tb=short", "-m", marks, *more]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode not in (0, NOTHING_CHOSEN):
            sys.stdout.write(done.stdout[-6000:] + done.stderr[-2000:])
            return None
    return time.monotonic() - start


def due(known: dict[str, dict[str, Any]]) -> list[str]:
    """Files with a part that has not passed since something changed; first what never passed, then by date."""
    names = [name for name in matrix_files() if changed(known.get(name, {}).get("commit", ""))]
    return sorted(names, key=lambda name: known.get(name, {}).get("date", ""))


def matrix_files() -> list[str]:
    """Test files that hold a part of the matrix."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if any(mark in file.read_text("utf-8") for mark in MARKS)]


@cache
def changed(since: str) -> bool:
    """Whether anything that a test may read differs from a commit, or the commit is not known."""
    command = ["git", "diff", "--quiet", since, "--", *READ_BY_TESTS]
    return not since or subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.DEVNULL).returncode != 0


def recorded() -> dict[str, dict[str, Any]]:
    """What is known of each file: the commit on which it last passed, when, and what it took."""
    return json.loads(RECORD.read_text("utf-8"))["files"] if RECORD.exists() else {}


def write(known: dict[str, dict[str, Any]]) -> None:
    """Replace the record; it names the machine that wrote it, and no file that has left the matrix."""
    machine = f"{platform.processor() or platform.machine()}, {platform.system()} {platform.release()}"
    files = {name: known[name] for name in matrix_files() if name in known}
    RECORD.write_text(json.dumps({"machine": machine, "files": files}, indent=2) + "\n", "utf-8")


def now() -> str:
    """The date and time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def git(*arguments: str) -> str:
    """What git answers."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
