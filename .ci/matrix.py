"""The long matrix of tests: which files of it a change calls for, and the record of when it last passed.

    python .ci/matrix.py due [--seconds N]     names the files whose part changed since the last full pass
    python .ci/matrix.py record LANE.xml ...   writes the record after `make test-all`

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
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import grimp

ROOT = Path(__file__).parents[1]
TESTS, SOURCE = ROOT / "tests", ROOT / "src"
RECORD = TESTS / "matrix.json"
MARKS = ("pytest.mark.matrix", "from lanes import")
"""A file with one of these has tests that only `make test-all` runs."""
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
    verbs.add_parser("due").add_argument("--seconds", type=float, default=float("inf"))
    verbs.add_parser("record").add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args(arguments)
    return record(asked.files) if asked.verb == "record" else due(asked.seconds)


def due(seconds: float) -> int:
    """Write the files that are due and fit into the time, one a line."""
    known = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"commit": "", "files": {}}
    touched = changed(known["commit"])
    for test in matrix_files():
        name = str(test.relative_to(ROOT))
        needed = known["files"].get(name, {}).get("seconds", float("inf"))
        if touched is not None and not depends(test, touched):
            continue
        if needed <= seconds:
            seconds -= needed
            sys.stdout.write(f"{name}\n")
        else:
            sys.stderr.write(f"due, and not run for want of time: {name} (make test-all)\n")
    return 0


def record(files: Iterable[Path]) -> int:
    """Write date, commit, machine and counts of a full pass; a pass with failures is not recorded."""
    cases = [case for file in files for case in ElementTree.parse(file).getroot().iter("testcase")]
    counts = {word: sum(case.find(word) is not None for case in cases) for word in ("failure", "error", "skipped")}
    if counts["failure"] or counts["error"] or git("status", "--porcelain", "--untracked-files=no"):
        sys.stderr.write(f"not recorded: {counts}; the tree must be committed and every test pass\n")
        return 1
    found: dict[str, dict[str, float]] = {}
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}.py"
        one = found.setdefault(name, {"tests": 0, "seconds": 0.0})
        one["tests"] += 1
        one["seconds"] = round(one["seconds"] + float(case.get("time", 0)), 1)
    wanted = {str(test.relative_to(ROOT)) for test in matrix_files()}
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "machine": f"{platform.processor() or platform.machine()}, {platform.system()} {platform.release()}",
        "tests": len(cases),
        "skipped": counts["skipped"],
        "files": {name: one for name, one in sorted(found.items()) if name in wanted},
    }
    RECORD.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    return 0


def matrix_files() -> list[Path]:
    """Test files that hold a part of the matrix."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [file for file in files if any(mark in file.read_text("utf-8") for mark in MARKS)]


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
