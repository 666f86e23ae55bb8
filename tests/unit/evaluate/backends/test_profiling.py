"""The tiers: the best that works is taken, each failure is a note, weak jails are for our own host code only."""

import os
import platform
from types import SimpleNamespace

import pytest

from kernelwright.errors import RefereeError
from kernelwright.evaluate.backends.absent.backend import unseen
from kernelwright.evaluate.backends.cpu import backend as cpu_backend
from kernelwright.evaluate.backends.cpu.backend import CpuBackend
from kernelwright.evaluate.backends.cuda import profiling
from kernelwright.evaluate.backends.cuda.profiling import LADDER, Profiler, Request
from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.languages.builder import Dynamic, Library, Program
from kernelwright.evaluate.profile import ncu
from kernelwright.evaluate.profile.ncu import wanted
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.base import Done
from kernelwright.evaluate.sandbox.messages.tools import (
    Activity,
    Counted,
    CountUnder,
    LibrarySubject,
    MeasureRates,
    PrepareProfile,
    Rates,
    Trace,
    Traced,
)
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.measure import BuildFacts, KernelFacts
from kernelwright.records.policy import Policy
from kernelwright.records.run import Device
from kernelwright.records.task import Target
from kernelwright.testing.samples import sample_task

CUDA = sample_task(Target(kind="cuda", arch="sm_90", present=True))
TRITON = Candidate(language="triton", source="import triton\n\n@triton.jit\ndef scale(x):\n    pass\n")
DENIED = "==ERROR== ERR_NVGPUCTRPERM - no permission\n"
ALL = tuple(wanted((9, 0)))


def counted(lacking=""):
    """What ncu prints when it knows all metrics but one; bytes are 4096, all else is 50."""
    names = [n for n in ALL if n != lacking]
    values = ["4,096" if n.startswith("dram__bytes_read") else "50" for n in names]
    rows = [["ID", "Kernel Name", "Block Size", "Grid Size", *names], ["", "", "", "", *[""] * len(names)]]
    rows.append(["0", "scale", "(256, 1, 1)", "(8, 1, 1)", *values])
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"


COUNTED = counted()
LAUNCH = Activity(name="scale", us=30.0, count=3, grid=(8, 1, 1), block=(256, 1, 1), registers=32, shared_bytes=0)
MEMSET = Activity(name="Memset (Device)", us=30.0, count=3)
TRACED = Traced(activities=(LAUNCH, MEMSET), calls=3)
RATES = Rates(copy_gbps=4300.0, fp32_tflops=51.0, notes=("tf32_tflops: out of memory",))
BUILD = BuildFacts(compiler="triton", seconds=1.0, kernels=(KernelFacts(name="scale", spill_bytes=8, registers=32),))
PLAN = LaunchPlan(launches=(Launch(kernel="scale", grid=(1, 1, 1), block=(32, 1, 1)),))
PROGRAM = Program((b"cubin",), (PLAN,), BUILD)


class Bench:
    """A machine whose children answer from a script; ncu's answer may depend on the jail."""

    def __init__(self, monkeypatch, tmp_path):
        self.trace, self.rates = TRACED, RATES
        self.counts = lambda jail: COUNTED
        self.traced_anew = ""
        self.asked, self.jails, self.denied = [], [], ()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(ncu, "find", lambda: "/usr/bin/ncu")
        monkeypatch.setattr(profiling, "_capability", lambda: (9, 0))
        monkeypatch.setattr(profiling, "Process", lambda child, limit, options: child)
        device = Device(kind="cuda", name="H200", cores=132)
        warm = SimpleNamespace(spawn=self.spawn)
        self.host = SimpleNamespace(warm=warm, device=device)
        self.ceiling_gbps = lambda size: 4400.0
        self.profiler = self.another("2")

    def another(self, torch):
        return Profiler(self.host, lambda size: self.ceiling_gbps(size), lambda: {"torch": torch})

    def spawn(self, side, jail):
        assert side == "profiled"
        ask = lambda command: self.ask(jail, command)  # noqa: E731
        return SimpleNamespace(ask=ask, close=lambda: None, child=SimpleNamespace(denied=self.denied))

    def ask(self, jail, command):
        self.asked.append(command)
        if isinstance(command, CountUnder) and not command.argv:
            return Counted(status=1, written=self.traced_anew, said="…\nImportError: no CUPTI\n")
        if isinstance(command, CountUnder):
            self.jails.append(jail.off)
            said = self.counts(jail)
            if isinstance(said, Exception):
                raise said
            return Counted(status=0, written=said, said="")
        answer = {Trace: self.trace, MeasureRates: self.rates, PrepareProfile: Done()}[type(command)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def of(self, kind):
        """The commands of a kind that were put."""
        return [command for command in self.asked if isinstance(command, kind)]

    def profile(self, **more):
        return self.profiler.profile(Request(CUDA, TRITON, **more))


@pytest.fixture
def bench(monkeypatch, tmp_path):
    return Bench(monkeypatch, tmp_path)


def test_both_tiers_are_joined(bench):
    found = bench.profile(build=BUILD)
    assert found.tier == "counters"
    scale, memset = found.kernels
    assert (scale.duration_us, scale.launches, scale.own, scale.spill_bytes) == (10.0, 1, True, 8)
    assert (scale.counters.dram_read_bytes, scale.occupancy_achieved) == (4096.0, 0.5)
    assert (memset.name, memset.own) == ("Memset (Device)", False)
    assert found.own_share == pytest.approx(0.5)
    assert (found.device_us, found.bytes, found.flops, found.multiprocessors) == (20.0, 8192, 1024, 132)
    assert bench.jails == [()]


def test_ceilings_are_measured_once_and_kept_on_disk(bench):
    first, again = bench.profile(), bench.profile()
    assert first.ceilings == again.ceilings
    assert (first.ceilings.read_gbps, first.ceilings.copy_gbps, first.ceilings.tf32_tflops) == (4400.0, 4300.0, None)
    assert "tf32_tflops: out of memory" in first.notes
    other = bench.another("2").profile(Request(CUDA, TRITON))
    assert other.ceilings == first.ceilings
    assert len(bench.of(MeasureRates)) == 1
    bench.another("3").profile(Request(CUDA, TRITON))
    assert len(bench.of(MeasureRates)) == 2


def test_a_ceiling_that_cannot_be_measured_is_not_known(bench):
    def broken(size):
        raise RefereeError("the bandwidth yardstick did not build")

    bench.ceiling_gbps = broken
    found = bench.profile()
    assert (found.tier, found.ceilings.read_gbps, found.ceilings.copy_gbps) == ("counters", None, None)
    assert any("yardstick did not build" in n for n in found.notes)


FAILURES = [
    ChildGoneError("killed by SIGKILL", "last words"), ChildSlowError(1.0), ChildRaisedError("CompilationError", "at 3:1"),
    TamperedError("another question"), RefereeError("the warm parent is gone"), OSError("no memory"),
]  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: type(f).__name__)
def test_each_failure_falls_to_the_next_tier(bench, failure):
    bench.counts = lambda jail: failure
    traced = bench.profile(build=BUILD)
    assert traced.tier == "trace"
    assert any(n.startswith("no counters: ") for n in traced.notes)
    bench.trace = bench.rates = failure
    facts = bench.profile(build=BUILD)
    assert (facts.tier, [k.spill_bytes for k in facts.kernels], facts.device_us) == ("compiler", [8], None)
    assert any(n.startswith("no trace: ") for n in facts.notes)
    assert all(len(n) < 500 for n in facts.notes)


def test_where_forks_cannot_be_traced_a_new_interpreter_is(bench):
    bench.counts = lambda jail: DENIED
    bench.traced_anew = bench.trace.model_dump_json()
    bench.trace = ChildRaisedError("RuntimeError", "CUPTI does not bear a fork")
    found = bench.profile()
    assert (found.tier, found.kernels[0].duration_us) == ("trace", 10.0)
    assert [command.order.trace for command in bench.of(PrepareProfile)][:2] == [False, True]


def test_where_forks_are_traced_a_failure_is_the_candidates(bench):
    bench.profile()
    bench.asked.clear()
    bench.trace, bench.counts = ChildRaisedError("CompilationError", "at 3:1"), lambda jail: DENIED
    assert "no trace: CompilationError: at 3:1 at 3:1" in bench.profile().notes
    assert not any(command.order.trace for command in bench.of(PrepareProfile))


def test_what_the_new_interpreter_said_last_is_told(bench):
    bench.counts, bench.trace = lambda jail: DENIED, OSError("no fork")
    assert "no trace: ImportError: no CUPTI" in bench.profile().notes


@pytest.mark.parametrize(
    "written", ["{}", '{"activities": [], "calls": "x"}', '{"activities": null, "calls": 1}', "[["]
)
def test_a_malformed_trace_is_no_profile(bench, written):
    bench.trace, bench.counts, bench.traced_anew = OSError("no fork"), lambda jail: DENIED, written
    assert bench.profile().tier == "compiler"


def test_counters_alone_are_a_profile(bench):
    bench.trace = OSError("no CUPTI")
    found = bench.profile()
    assert (found.tier, found.kernels[0].counters.dram_read_bytes) == ("counters", 4096.0)


def test_a_weaker_jail_is_tried_remembered_and_told(bench):
    bench.counts = lambda jail: COUNTED if "namespaces" in jail.off else "==ERROR== cannot connect\n"
    assert f"counters were taken {LADDER[2].words}" in bench.profile().notes
    bench.jails.clear()
    bench.profile()
    assert bench.jails == [LADDER[2].off]


def test_foreign_host_code_never_gets_the_referees_user(bench):
    bench.counts = lambda jail: COUNTED if "nobody" in jail.off else DENIED
    found = bench.profile()
    assert found.tier == "trace"
    assert any("NVreg_RestrictProfilingToAdminUsers" in n for n in found.notes)
    assert all("nobody" not in off for off in bench.jails)


def test_device_code_alone_may(bench):
    bench.counts = lambda jail: COUNTED if "nobody" in jail.off else DENIED
    found = bench.profile(program=PROGRAM)
    assert found.tier == "counters"
    assert f"counters were taken {LADDER[-1].words}" in found.notes
    subject = bench.of(PrepareProfile)[0].order.subject
    assert (subject.kind, subject.modules) == ("program", 1)
    assert {len(command.files) for command in bench.of(PrepareProfile)} == {1}


def test_a_lost_part_that_costs_the_user_is_not_paid_by_foreign_code(bench):
    bench.denied = ("nobody",)
    bench.counts = lambda jail: COUNTED if jail.off else "==ERROR== cannot connect\n"
    found = bench.profile()
    assert found.tier == "trace"
    assert bench.jails == [()]


def test_strict_isolation_stays_in_the_full_jail(bench):
    bench.counts = lambda jail: COUNTED if jail.off else DENIED
    assert bench.profile(policy=Policy(isolation="strict")).tier == "trace"
    assert bench.jails == [()]


def test_a_denied_permission_is_found_out_once(bench):
    bench.counts = lambda jail: DENIED
    bench.profile()
    tried = len(bench.jails)
    bench.profile()
    assert len(bench.jails) == tried


def test_metrics_that_the_chip_lacks_are_left_out_and_remembered(bench):
    def counts(jail):
        wanted = bench.asked[-1].argv[-1]
        lacks = "lts__t_sector_hit_rate" in wanted
        return "==ERROR== Failed to find metric regex:^lts__t_sector_hit_rate(\\.(pct))?$\n" if lacks else COUNTED

    bench.counts = counts
    assert bench.profile().tier == "counters"
    assert bench.jails == [(), ()]
    bench.profile()
    assert len(bench.jails) == 3


def test_a_metric_without_a_number_is_asked_for_by_its_next_name(bench):
    first = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    bench.counts = lambda jail: counted(first)
    bench.profile()
    asked = [command.argv[command.argv.index("--metrics") + 1] for command in bench.of(CountUnder)]
    assert first in asked[0]
    assert first not in asked[1]
    assert "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active" in asked[1]
    assert len(asked) == 2, "the last name that there is stays"


def test_without_ncu_there_is_a_trace_and_a_cure(bench, monkeypatch):
    monkeypatch.setattr(ncu, "find", lambda: None)
    found = bench.profile()
    assert found.tier == "trace"
    assert any("comes with the CUDA toolkit" in n for n in found.notes)


def test_cuda_source_without_its_binary_is_not_run(bench):
    found = bench.profiler.profile(Request(CUDA, Candidate(language="cuda", source="x")))
    assert (found.tier, bench.jails) == ("compiler", [])
    library = Request(CUDA, Candidate(language="cuda_host", source="x", entry="f", workspace_bytes=8), library=b"so")
    assert (library.runnable, library.binaries()) == (True, (b"so",))
    assert library.subject() == LibrarySubject(workload=CUDA.workload, entry="f", workspace_bytes=8)


LOOP = ".L1:\n\tvmovups\t(%rax), %ymm0\n\taddq\t$32, %rax\n\tjne\t.L1\n"


def test_a_cpu_says_what_it_has(monkeypatch):
    cpu = CpuBackend(Host(None, Device(kind="cpu", name="CPU", cores=2)))
    monkeypatch.setattr(cpu.clock, "ceiling_gbps", lambda size: 4400.0)
    monkeypatch.setattr(cpu_backend, "assembly", lambda order: LOOP)
    found = cpu.profile(trial(Candidate(language="cpp", source="x"), sample_task()), BUILD)
    assert [loop.vector_bits for loop in found.loops] == ([256] if platform.machine() == "x86_64" else [])
    assert (found.tier, found.ceilings.read_gbps, found.multiprocessors) == ("compiler", 4400.0, None)
    assert "target cpu has no device profiler" in found.notes[0]
    assert [k.name for k in found.kernels] == ["scale"]


def test_a_device_that_is_not_here_has_published_ceilings():
    task = sample_task(Target(kind="cuda", arch="sm_90", present=False))
    found = unseen(task, TRITON, BUILD)
    assert (found.tier, found.device, found.ceilings.origin, found.multiprocessors) == (
        "compiler",
        "sm_90",
        "published",
        132,
    )
    assert found.ceilings.bf16_tflops == pytest.approx(989.4)
    assert [k.name for k in found.kernels] == ["scale"]


MACHINE = SimpleNamespace(warm=None, hardware=None)


def trial(candidate, task=CUDA):
    original = SimpleNamespace(task=task, init_source=lambda full=False: "init")
    session = SimpleNamespace(original=original, task=task, tensors=())
    return Trial(task, lambda: session, candidate, Policy())


def test_what_can_be_a_program_is_profiled_as_one_by_its_fastest_plan(monkeypatch):
    other = PLAN.model_copy(update={"label": "BLOCK=64"})
    program = Program((b"cubin",), (PLAN, other), BUILD)
    monkeypatch.setattr(profiling, "built", lambda *_: program)
    judged = BUILD.model_copy(update={"chosen": "BLOCK=64"})
    assert profiling.request_of(trial(TRITON), judged, MACHINE).plan == 1
    unjudged = profiling.request_of(trial(TRITON), None, MACHINE)
    assert (unjudged.plan, unjudged.build, unjudged.program) == (0, BUILD, program)


def test_what_cannot_keeps_its_host_code(monkeypatch):
    monkeypatch.setattr(profiling, "built", lambda *_: Dynamic(reason="host code"))
    found = profiling.request_of(trial(TRITON), None, MACHINE)
    assert (found.subject().kind, found.subject().init) == ("module", "init")


@pytest.mark.parametrize(
    "failure", [OutcomeReached(BuildFailed(log="3:1")), *FAILURES[:5]], ids=lambda f: type(f).__name__
)
def test_what_does_not_build_is_a_note(bench, monkeypatch, failure):
    def broken(*_):
        raise failure

    monkeypatch.setattr(profiling, "built", broken)
    found = bench.profiler.profile(profiling.request_of(trial(TRITON), None, MACHINE))
    assert (found.tier, bench.jails) == ("compiler", [])
    assert any("could not be built" in n for n in found.notes)


def test_a_host_library_is_read_and_closed(monkeypatch):
    descriptor = os.memfd_create("library")
    os.write(descriptor, b"elf")
    monkeypatch.setattr(profiling, "built", lambda *_: Library(descriptor, BUILD))
    found = profiling.request_of(trial(Candidate(language="cuda_host", source="x", entry="f")), None, MACHINE)
    assert (found.library, found.build, found.runnable) == (b"elf", BUILD, True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
