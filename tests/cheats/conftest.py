"""One warm parent and a few admitted tasks, before which every cheat is judged three times.

A source holds the honest kernel and the cheat, chosen by the macro CHEAT. `Bench.arms` judges the honest twin (it must be
measured), the cheat (it must be caught: the test says how), and the cheat with its own defence switched off (it
must get through, or the defence would be decoration).
"""

import tempfile
from pathlib import Path

import pytest
from cheat_tasks import QUICK, TASKS

from kernelwright.evaluate.backends.cpu.backend import CpuBackend, host_of
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.evaluate import evaluate_candidate
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
WITH_THE_SESSION = {"regimes", "read_only_inputs", "random_parameters", "calibrated", "admission", "secret_seeds"}
"""Defences that are settled when a task is admitted."""
PRELUDE = """\
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

// Runs Python in the interpreter that called us: the candidate owns its whole process. A cheat that fails is no honest kernel.
[[maybe_unused]] static void python(const char* code) {
    auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    auto run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
    auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    const int state = ensure();
    const int failed = run(code);
    release(state);
    if (failed) std::abort();
}
"""


class Bench:
    """Judges sources; what was admitted once is used again."""

    def __init__(self, warm):
        self.backend = CpuBackend(host_of(warm, 1))
        self.sessions = {}

    def module(self, name, task, more):
        """The verdict on a Python module whose text begins with its task's."""
        candidate = Candidate(language="python", source=task + more)
        return self.evaluate(lambda: self.session(name, QUICK, task), candidate, QUICK)

    def session(self, name, policy, source=None):
        key = name, frozenset(policy.disabled) & WITH_THE_SESSION
        if key not in self.sessions:
            text = TaskSource(name=name, format="kernelbench", source=source or TASKS[name])
            self.sessions[key] = admit.open_session(self.backend, text, CPU, policy, print)
        self.sessions[key].policy = policy
        return self.sessions[key]

    def judge(self, source, name, cheat, disabled=(), task_source=None, effort="search"):
        policy = QUICK.model_copy(update={"disabled": tuple(disabled)})
        candidate = Candidate(
            language="cpp", source=PRELUDE + source, entry="kernel", defines=(Define(name="CHEAT", value=cheat),)
        )
        return self.evaluate(lambda: self.session(name, policy, task_source), candidate, policy, effort)

    def evaluate(self, session, candidate, policy, effort="search"):
        return evaluate_candidate(Trial(session().original.task, session, candidate, policy, effort), self.backend)

    def close(self):
        for session in self.sessions.values():
            session.close()


class Arms:
    """The three judgements of one cheat."""

    def __init__(self, bench, defence):
        self.bench, self.defence = bench, defence

    def __call__(self, source, name, also=(), task_source=None, effort="search"):
        """`also`: other defences that catch it as well, and are off in every arm."""
        honest = self.bench.judge(source, name, 0, also, task_source, effort)
        assert honest.outcome == "measured", f"the honest twin: {honest}"
        caught = self.bench.judge(source, name, 1, also, task_source, effort)
        through = self.bench.judge(source, name, 1, (*also, self.defence), task_source, effort)
        assert through.outcome == "measured", f"without {self.defence}: {through}"
        assert self.defence in through.disabled
        return honest, caught, through


def pytest_configure(config):
    config.addinivalue_line("markers", "defence(name): which defence of the referee a cheat is caught by")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Three judgements that are compared ask for the machine alone: a neighbour can make an honest twin suspect."""
    for item in items:
        if "arms" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.quiet)


@pytest.fixture(scope="session")
def bench():
    with Warm(("kernelwright.evaluate.entrypoints.reference", "torch.export", "torch._dynamo")) as warm:
        made = Bench(warm)
        yield made
        made.close()


@pytest.fixture
def arms(bench, request):
    return Arms(bench, request.node.get_closest_marker("defence").args[0])


@pytest.fixture
def outside():
    """A directory of the host's that every user could write to; not pytest's, whose parents are closed by each run."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)
