"""Skips what this machine cannot run, in one place; under CI any other skip is a failure."""

import os
import shutil
import subprocess

import pytest

REASONS = {"gpu": "needs an NVIDIA GPU", "live": "needs a model key"}
"""Markers that may skip a test, and what they say."""

FOUL = pytest.StashKey[list]()
"""Skips for another reason, as they are found."""


@pytest.fixture(scope="session")
def warm_referee():
    """One worker for all tests of this process that do not ask for their own."""
    from warm_referee import WarmReferee  # noqa: PLC0415  most tests need none

    made = WarmReferee()
    yield made
    made.close()


def pytest_configure(config):
    config.stash[FOUL] = []


def pytest_collection_modifyitems(config, items):
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


def pytest_sessionfinish(session, exitstatus):
    foul = session.config.stash[FOUL]
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


def _gpu():
    tool = shutil.which("nvidia-smi")
    return bool(tool) and subprocess.run([tool, "-L"], capture_output=True, check=False).returncode == 0


def _key():
    return bool(os.environ.get("KERNELWRIGHT_LIVE_KEY"))
