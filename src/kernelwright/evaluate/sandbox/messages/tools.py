"""What confined compilers and profilers are asked."""

from typing import Annotated, Literal

from pydantic import Base64Bytes, Field

from kernelwright.evaluate.sandbox.messages.base import Command, Count, Done, Figure, Many, Reply, Text, Whole
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.base import Record
from kernelwright.records.candidate import Candidate
from kernelwright.records.launch import LaunchPlan
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.measure import BuildFacts
from kernelwright.records.numerics import NumericsMode
from kernelwright.records.task import Workload


class Made(Record):
    """Bytes that a compiler made and that wait to be read."""

    address: Whole
    nbytes: Whole


class Executed(Reply):
    """A program has ended."""

    status: Annotated[int, Field(strict=True, ge=-(1 << 31), lt=1 << 31)]
    log: Text
    made: Made | None = None


class Execute(Command[Executed]):
    """Run a program beside `files_by_name`; the bytes of the file `result` are kept if it succeeds."""

    kind: Literal["execute"] = "execute"
    argv: tuple[str, ...]
    texts: dict[str, str]
    """Files that it finds, by name."""
    result: str = ""


class Kernels(Record):
    """A binary with its kernels."""

    made: Made
    names: Many[Text]
    """Of the kernels that were asked for, in the binary."""
    parameters: dict[Text, Many[Whole]]
    """Sizes of a kernel's parameters in bytes, by its name in the binary; those that are known."""


class CudaCompiled(Reply):
    """What NVRTC said."""

    missing: Text = ""
    """Why there is no NVRTC."""
    version: Text = ""
    log: Text = ""
    kernels: Kernels | None = None
    """None where it failed."""


class CompileCuda(Command[CudaCompiled]):
    """Compile CUDA C++ with NVRTC."""

    kind: Literal["compile_cuda"] = "compile_cuda"
    source: str
    names: tuple[str, ...]
    """Kernels that must be there."""
    options: tuple[str, ...]
    include: tuple[str, ...]
    library: str | None
    """NVRTC's own file."""


class ExtensionBuilt(Reply):
    """What building an extension said."""

    log: Text
    ways: Many[Text]
    seconds: Figure


class BuildExtension(Command[ExtensionBuilt]):
    """Import a candidate that builds an extension, for the sake of what it compiles."""

    kind: Literal["build_extension"] = "build_extension"
    candidate: Candidate
    arch: str
    headers: str | None = None


class CrossBuilt(Reply):
    """The compiler's facts."""

    facts: BuildFacts


class BuildCross(Command[CrossBuilt]):
    """Compile a Triton candidate for a device that is not here."""

    kind: Literal["build_cross"] = "build_cross"
    candidate: Candidate
    workload: Workload
    init: str
    arch: str


class CapturedPlans(Record):
    """What stands before the binaries in a captured program."""

    plans: Many[LaunchPlan]
    unaligned_plans: Many[LaunchPlan]
    aligned_only: Text
    facts: BuildFacts


class Captured(Reply):
    """A captured program that waits to be read: `CapturedPlans`, then the binaries."""

    address: Whole
    sizes: Many[Whole]


class Capture(Command[Captured]):
    """Compile a Triton candidate and capture its launches."""

    kind: Literal["capture"] = "capture"
    candidate: Candidate
    workload: Workload
    init: str
    device: Hardware


class Lowered(Reply):
    """What PyTorch's compiler wrote."""

    lowering: Lowering


class Lower(Command[Lowered]):
    """Have PyTorch's compiler write a task, and take its text before anything of it is compiled."""

    kind: Literal["lower"] = "lower"
    source: str
    numerics: NumericsMode
    device: Hardware | None
    """The GPU to write for; None: this machine's CPU."""
    threads: int
    """Of a CPU."""
    options: Options


# --- profilers -------------------------------------------------------------------------------------------------------


class ModuleSubject(Record):
    """A module with host code of its own."""

    kind: Literal["module"] = "module"
    workload: Workload
    candidate: Candidate
    init: str
    device: str = "cuda"


class LibrarySubject(Record):
    """A shared object, which lies beside the order."""

    kind: Literal["library"] = "library"
    workload: Workload
    entry: str
    workspace_bytes: int


class ProgramSubject(Record):
    """A launch plan; its modules lie beside the order."""

    kind: Literal["program"] = "program"
    workload: Workload
    plan: LaunchPlan
    modules: int


class ProfileOrder(Record):
    """What a profiled process is told."""

    subject: ModuleSubject | LibrarySubject | ProgramSubject = Field(discriminator="kind")
    trace: bool = False
    """A started target traces the call itself."""


class PrepareProfile(Command[Done]):
    """Put the order, and the binaries that come as files, where a started tool finds them."""

    kind: Literal["prepare_profile"] = "prepare_profile"
    order: ProfileOrder


class PlanJob(Record):
    """A launch plan with its binaries, to be run under a sanitizer."""

    kind: Literal["plan"] = "plan"
    workload: Workload
    plan: LaunchPlan
    modules: tuple[Base64Bytes, ...]


class ModelJob(Record):
    """A candidate's own module, to be run under a sanitizer."""

    kind: Literal["model"] = "model"
    workload: Workload
    candidate: Candidate
    init: str


class SanitizerJob(Record):
    """What a process under a sanitizer is told."""

    program: PlanJob | ModelJob = Field(discriminator="kind")


Extent = tuple[Count, Count, Count]


class Activity(Record):
    """Equal activities of the device, summed."""

    name: Text
    us: Figure
    count: Count
    grid: Extent | None = None
    block: Extent | None = None
    registers: Annotated[int, Field(strict=True, ge=0, lt=1 << 31)] | None = None
    shared_bytes: Annotated[int, Field(strict=True, ge=0, lt=1 << 31)] | None = None


class Traced(Reply):
    """Activities of so many calls."""

    calls: Count
    activities: Many[Activity]


class Trace(Command[Traced]):
    """Trace a few calls."""

    kind: Literal["trace"] = "trace"


class Counted(Reply):
    """A tool has ended."""

    status: Annotated[int, Field(strict=True, ge=-(1 << 31), lt=1 << 31)]
    written: Text
    """Its log."""
    said: Text
    """The end of what it printed."""


class CountUnder(Command[Counted]):
    """Run a tool, if any, on the order in an interpreter of its own."""

    kind: Literal["count_under"] = "count_under"
    argv: tuple[str, ...]
    log: str


class Rates(Reply):
    """What the device can do at most; a rate that failed is None, and `notes` say why."""

    copy_gbps: Figure | None = None
    fp32_tflops: Figure | None = None
    tf32_tflops: Figure | None = None
    bf16_tflops: Figure | None = None
    launch_us: Figure | None = None
    notes: Many[Text] = ()


class MeasureRates(Command[Rates]):
    """Measure what the device can do at most."""

    kind: Literal["measure_rates"] = "measure_rates"
