"""One warm parent and a few admitted tasks, before which every cheat is judged."""

import contextlib

import pytest
from cheat_files import FOLDER
from cheat_tasks import QUICK, RUN, SECRET, TASKS

from kernelwright.evaluate.backends.cpu.backend import CpuBackend, host_of
from kernelwright.evaluate.backends.table import INDUCTOR, PARENTS
from kernelwright.evaluate.pipeline import admit
from kernelwright.evaluate.pipeline.evaluate import evaluate_candidate
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.evaluate.session.trial import Trial
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.task import Target, TaskSource

CPU = Target(kind="cpu", arch="native", present=True)
WITH_THE_SESSION = {"regimes", "read_only_inputs", "random_parameters", "calibrated", "admission", "secret_seeds"}
"""Defences that are settled when a task is admitted."""
MOST = 6
"""Sessions that stay open: each holds a reference and its inputs."""
PRELUDE = (FOLDER / "prelude.h").read_text()


class Bench:
    """Judges sources; what was admitted once is used again."""

    def __init__(self, warm):
        self.backend = CpuBackend(host_of(warm, 1))
        self.sessions = {}

    def session(self, source, policy):
        """The session of a task, which is text, or a source that was read."""
        text = TaskSource(name="cheated", format="kernelbench", source=source) if isinstance(source, str) else source
        key = text.source, frozenset(policy.disabled) & WITH_THE_SESSION, policy.state
        if key not in self.sessions:
            self.sessions[key] = admit.open_session(self.backend, text, CPU, policy, print)
        self.sessions[key] = self.sessions.pop(key)
        if len(self.sessions) > MOST:
            self.sessions.pop(next(iter(self.sessions))).close()
        self.sessions[key].policy = policy
        return self.sessions[key]

    def judge(self, source, task, cheat=1, disabled=(), effort="search", **macros):
        """The verdict on a C++ source, for a task by its name; `macros` stand before it."""
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        candidate = Candidate(
            language="cpp",
            source=f'{PRELUDE}#define RUN "{RUN[:8]}"\n#define SECRET {SECRET!r}\n{head}{source}',
            entry="kernel",
            defines=(Define(name="CHEAT", value=cheat),),
        )
        return self.evaluate(
            TASKS[task].text, candidate, QUICK.model_copy(update={"disabled": tuple(disabled)}), effort
        )

    def module(self, task, more, **policy):
        """The verdict on a Python module whose text begins with its task's."""
        candidate = Candidate(language="python", source=task + more)
        return self.evaluate(task, candidate, QUICK.model_copy(update=policy))

    def evaluate(self, source, candidate, policy, effort="search"):
        session = self.session(source, policy)
        return evaluate_candidate(
            Trial(session.original.task, lambda: session, candidate, policy, effort), self.backend
        )

    @contextlib.contextmanager
    def alone(self, source):
        """A task whose sessions are closed at once, for there are many like it."""
        yield source
        for key in [key for key in self.sessions if key[0] == source.source]:
            self.sessions.pop(key).close()

    def close(self):
        for session in self.sessions.values():
            session.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "defence(name): which defence of the referee a cheat is caught by")


@pytest.fixture(scope="session")
def bench():
    # As a worker's own, but for what says that there is no GPU: a candidate's environment is then the bare one.
    with Warm(PARENTS["cpu"][0], INDUCTOR) as warm:
        made = Bench(warm)
        yield made
        made.close()
