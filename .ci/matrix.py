"""The long matrix of tests: which files of it a change calls for, and the record of when each last passed.

    python .ci/matrix.py due [--seconds N]             names the files whose part changed since they last passed
    python .ci/matrix.py run [--seconds N] [FILE ...]  runs those, or the ones that are named, and records each that passes

`run` records a file as soon as it has passed, so that the same command goes on where the last one was cut. The tree must be
committed: a record names the commit.

A test depends on the modules that it imports, on those which they import, and on the processes that they start. With
`--seconds` only files that fit into the time are written to standard output; the others are named on standard error.
"""

import argparse
import ast
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import grimp

ROOT = Path(__file__).parents[1]
TESTS, SOURCE = ROOT / "tests", ROOT / "src"
RECORD = TESTS / "matrix.json"
MARKS = ("pytest.mark.matrix", "from lanes import")
"""A file with one of these has tests that only `make test-all` runs."""
NOTHING_CHOSEN = 5
"""pytest's exit code where no test has the marks."""
STARTED = {
    "kernelwright.evaluate.referee": ("kernelwright.evaluate.worker",),
    "kernelwright.evaluate.backends.table": ("kernelwright.evaluate.backends",),
    "kernelwright.evaluate.sandbox.spawn": ("kernelwright.evaluate.entrypoints", "kernelwright.evaluate.sandbox.warm"),
}
"""Modules that a module starts in a process of its own: no import says so."""
PROGRAM = "kernelwright.interfaces.cli.main"


def main(arguments: list[str]) -> int:
    """Answer a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("due", "run"):
        verbs.add_parser(verb).add_argument("--seconds", type=float, default=float("inf"))
    verbs.choices["run"].add_argument("files", nargs="*")
    asked = parser.parse_args(arguments)
    return run(asked.files, asked.seconds) if asked.verb == "run" else due(asked.seconds)


def due(seconds: float) -> int:
    """Write the files that are due and fit into the time, one a line."""
    known = recorded()
    for name in due_files(known):
        needed = known.get(name, {}).get("seconds", float("inf"))
        if needed <= seconds:
            seconds -= 0 if needed == float("inf") else needed
            sys.stdout.write(f"{name}\n")
        else:
            sys.stderr.write(f"due, and not run for want of time: {name} (make test-all)\n")
    return 0


def run(files: list[str], seconds: float) -> int:
    """Run what is due or named, as long as there is time; 0 where everything has passed and is recorded."""
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RECORD.relative_to(ROOT)}"):
        sys.stderr.write("not run: a record names a commit, so that the tree must be committed\n")
        return 1
    known, end = recorded(), time.monotonic() + seconds
    wanted = files or list(due_files(known))
    left = 0
    for number, name in enumerate(wanted, 1):
        if time.monotonic() >= end:
            sys.stdout.write(f"no time is left for {len(wanted) - number + 1}, from {name} on\n")
            return 1
        sys.stdout.write(f"{number} of {len(wanted)}: {name}: ")
        sys.stdout.flush()
        took = passed(name)
        sys.stdout.write("failed\n" if took is None else f"passed in {took:.0f} s\n")
        left += took is None
        if took is not None:
            known[name] = {"commit": git("rev-parse", "HEAD"), "date": today(), "seconds": round(took, 1)}
            write(known)
    sys.stdout.write(f"{len(wanted) - left} of {len(wanted)} files passed\n")
    return int(left > 0)


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


def recorded() -> dict[str, dict[str, Any]]:
    """What is known of each file: the commit on which it last passed, when, and what it took."""
    return json.loads(RECORD.read_text("utf-8"))["files"] if RECORD.exists() else {}


def write(known: dict[str, dict[str, Any]]) -> None:
    """The record anew, with the machine that wrote it."""
    machine = f"{platform.processor() or platform.machine()}, {platform.system()} {platform.release()}"
    wanted = {str(test.relative_to(ROOT)) for test in matrix_files()}
    files = {name: one for name, one in sorted(known.items()) if name in wanted}
    RECORD.write_text(json.dumps({"machine": machine, "files": files}, indent=2) + "\n", "utf-8")


def today() -> str:
    """The date and time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def due_files(known: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Files whose part changed since they last passed, or that never did; the quickest of those that are known first."""
    names = [str(test.relative_to(ROOT)) for test in matrix_files()]
    for name in sorted(names, key=lambda name: known.get(name, {}).get("seconds", 0.0)):
        touched = changed(known.get(name, {}).get("commit", ""))
        if touched is None or depends(ROOT / name, touched):
            yield name


def matrix_files() -> list[Path]:
    """Test files that hold a part of the matrix."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [file for file in files if any(mark in file.read_text("utf-8") for mark in MARKS)]


@cache
def changed(since: str) -> set[Path] | None:
    """Files that differ from a commit; None where that is not known, and so everything may have changed."""
    if not since or subprocess.run(["git", "cat-file", "-e", since], cwd=ROOT, check=False, stderr=-3).returncode:
        return None
    return {ROOT / line for line in git("diff", "--name-only", since).splitlines()}


def depends(test: Path, touched: set[Path]) -> bool:
    """Whether a test reads one of the files: as a module, as a helper beside it, or as data of a folder that it names."""
    helpers = set(helpers_of(test))
    modules = behind({name for file in helpers for name in imported(file) if name.startswith("kernelwright")})
    text = "".join(file.read_text("utf-8") for file in helpers)
    for file in touched:
        if file in helpers or (file.is_relative_to(SOURCE) and module_of(file) in modules):
            return True
        if not file.is_relative_to(SOURCE) and file.suffix != ".md" and f'"{file.parent.name}"' in text:
            return True
    return False


def helpers_of(test: Path) -> Iterator[Path]:
    """The test, and the modules of tests/ that it imports, starts, or has a fixture of: those whose names it says."""
    todo, seen = [test], {test}
    while todo:
        file = todo.pop()
        yield file
        said = set(re.findall(r"\w+", file.read_text("utf-8")))
        beside = {*file.parent.glob("*.py"), *TESTS.glob("*.py"), *(TESTS / "mock_llm").glob("*.py")}
        found = {
            path for path in beside - seen if path.stem in said and not path.name.startswith(("test_", "conftest"))
        }
        todo += found
        seen |= found


def imported(file: Path) -> Iterator[str]:
    """Names of the modules that a file imports; the program, where it starts one."""
    text = file.read_text("utf-8")
    if '"-m", "kernelwright"' in text:
        yield PROGRAM
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom."""
    return grimp.build_graph("kernelwright", cache_dir=None)


def behind(names: set[str]) -> set[str]:
    """These modules, and all that they import or start."""
    known, todo, found = graph().modules, list(names), set[str]()
    while todo:
        name = todo.pop()
        if name in found or name not in known:
            continue
        found |= {name, *(name[: dot.start()] for dot in re.finditer(r"\.", name))}
        todo += graph().find_modules_directly_imported_by(name)
        for started in STARTED.get(name, ()):
            todo += [module for module in known if module == started or module.startswith(f"{started}.")]
    return found


def module_of(file: Path) -> str:
    """The module of a file; of data, the nearest package around it."""
    place = file.with_suffix("") if file.suffix == ".py" and file.name != "__init__.py" else file.parent
    while ".".join(place.relative_to(SOURCE).parts) not in graph().modules and place != SOURCE:
        place = place.parent
    return ".".join(place.relative_to(SOURCE).parts)


def git(*arguments: str) -> str:
    """What git answers."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
