"""Several settings of one kernel as one program: every plan finds its own binary, and its name says which setting it is.

A program is built once for a task and candidate, as long as it is among the latest.
"""

from types import SimpleNamespace

from kernelwright.evaluate.backends.cuda import preparation
from kernelwright.evaluate.backends.cuda.machine import MOST, Programs
from kernelwright.evaluate.backends.cuda.preparation import _together, built
from kernelwright.evaluate.languages.builder import Program
from kernelwright.records.candidate import Candidate, Define
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.measure import BuildFacts
from kernelwright.records.policy import Policy

POLICY = Policy(tune_points=8)


def plan(label="", module=0):
    return LaunchPlan(launches=(Launch(kernel="k", module=module, grid=(1, 1, 1), block=(32, 1, 1)),), label=label)


def program(*modules, unaligned=()):
    facts = BuildFacts(compiler=str(modules[0]), seconds=1.0)
    plans = tuple(plan(f"warps={i}", i) for i in range(len(modules)))
    return Program(modules, plans, facts, unaligned)


def at(value):
    return Candidate(language="cuda", source="x", defines=(Define(name="BLOCK", value=value),))


def test_plans_keep_their_binaries_and_are_named_after_their_settings():
    found = _together([program(b"a", b"b"), program(b"c", unaligned=(plan("warps=0"),))], [at(1), at(2)])
    assert found.modules == (b"a", b"b", b"c")
    assert [(p.label, p.launches[0].module) for p in found.plans] == [
        ("BLOCK=1 warps=0", 0), ("BLOCK=1 warps=1", 1), ("BLOCK=2 warps=0", 2),
    ]  # fmt: skip
    assert [(p.label, p.launches[0].module) for p in found.unaligned_plans] == [("BLOCK=2 warps=0", 2)]
    assert found.facts.compiler == "b'a'"


def test_a_program_is_built_once_as_long_as_it_is_among_the_latest(monkeypatch):
    asked = []

    def planned(trial, warm, device):
        asked.append(trial.candidate.id)
        return program(trial.candidate.source.encode())

    monkeypatch.setattr(preparation, "_planned", planned)
    machine = SimpleNamespace(programs=Programs(), warm=None, hardware=None)

    def of(source, policy=POLICY):
        candidate = Candidate(language="cuda", source=source)
        return SimpleNamespace(task=SimpleNamespace(id="task"), candidate=candidate, policy=policy)

    first = built(of("a"), machine)
    assert built(of("a"), machine) is first
    assert built(of("b"), machine) is not first
    built(of("a", POLICY.model_copy(update={"tune_points": 1})), machine)
    assert len(asked) == 3
    for number in range(MOST):
        built(of(f"c{number}"), machine)
    assert built(of("a"), machine) is not first
