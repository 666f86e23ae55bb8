"""Skips what this machine cannot run, in one place; under CI any other skip is a failure.

`--write-durations LANE` records in `tests/durations.json` what each file of a lane took (`make durations`); where files run
beside each other, the longest are begun first.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

QUIET = ("pytest.mark.quiet", "from lanes import")
"""A file without one of these has no test that runs alone."""
REASONS = {"gpu": "needs an NVIDIA GPU", "live": "needs a model key"}
"""Markers that may skip a test, and what they say."""

STATE = pytest.StashKey[str]()
FOUL = pytest.StashKey[list]()
"""Skips for another reason, as they are found."""
DURATIONS = Path(__file__).with_name("durations.json")
TOTAL = Counter()
"""Seconds by file."""
WORTH_A_LINE = 0.5
"""Seconds of a file that is recorded; the others come last."""


@pytest.fixture(scope="session")
def warm_referee():
    """One worker for all tests of this process that do not ask for their own."""
    from warm_referee import WarmReferee  # noqa: PLC0415  most tests need none

    made = WarmReferee()
    yield made
    made.close()


def pytest_addoption(parser):
    parser.addoption("--write-durations", metavar="LANE", help=f"record in {DURATIONS.name} what each file took")


def pytest_configure(config):
    config.stash[FOUL] = []
    # Nobody's own records, and no turns with what runs beside these tests: those that compare times run alone.
    config.stash[STATE] = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-")


def pytest_unconfigure(config):
    shutil.rmtree(config.stash[STATE], ignore_errors=True)


def pytest_ignore_collect(collection_path, config):
    """The lane of quiet tests reads their files alone: to import the others takes longer than its tests do."""
    alone = config.option.markexpr.startswith("quiet") and collection_path.match("test_*.py")
    return (alone and not _may_be_quiet(collection_path)) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    hidden = {item.path for item in items if item.get_closest_marker("quiet") and not _may_be_quiet(item.path)}
    if hidden:
        raise pytest.UsageError(
            f"quiet tests, which their lane would not find: name one of {QUIET} in {sorted(hidden)}"
        )
    if hasattr(config, "workerinput"):
        known = Counter()
        for lane in _recorded().values():
            known.update(lane["files"])
        items.sort(key=lambda item: -known[_file(item.nodeid)])
    missing = [name for name, present in (("gpu", _gpu()), ("live", _key())) if not present]
    for item in items:
        for name in missing:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=REASONS[name]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    _note(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _note(collector.config, report)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """A parallel run: takes over what the worker found."""
    node.config.stash[FOUL] += getattr(node, "workeroutput", {}).get("foul", [])


def pytest_runtest_logreport(report):
    TOTAL.update({_file(report.nodeid): report.duration})


def pytest_sessionfinish(session, exitstatus):
    foul = session.config.stash[FOUL]
    lane = session.config.getoption("--write-durations")
    if lane and not hasattr(session.config, "workerinput"):
        files = {name: round(seconds, 1) for name, seconds in TOTAL.most_common() if seconds >= WORTH_A_LINE}
        found = _recorded() | {lane: {"seconds": round(sum(TOTAL.values())), "files": files}}
        DURATIONS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["foul"] = foul
    elif foul and os.environ.get("CI") and exitstatus in {0, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    foul = config.stash[FOUL]
    if foul:
        terminalreporter.section("skipped for no good reason")
        for told in foul:
            terminalreporter.line(told)


def _note(config, report):
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = told.removeprefix("Skipped: ")
    if reason not in REASONS.values():
        config.stash[FOUL].append(f"{report.nodeid}: {reason}")


@cache
def _may_be_quiet(path):
    return any(mark in path.read_text("utf-8") for mark in QUIET)


def _recorded():
    return json.loads(DURATIONS.read_text("utf-8")) if DURATIONS.exists() else {}


def _file(node):
    return node.partition("::")[0]


def _gpu():
    tool = shutil.which("nvidia-smi")
    return bool(tool) and subprocess.run([tool, "-L"], capture_output=True, check=False).returncode == 0


def _key():
    return bool(os.environ.get("KERNELWRIGHT_LIVE_KEY"))
