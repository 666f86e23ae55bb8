"""CUDA C++ with its own host function, through nvcc in the confined child of C++, into bytes of a shared object.

The facts of each kernel come from the assembler's log. The host function launches with whatever grid and shared memory
it likes, so occupancy and dynamic shared memory are not known here.
"""

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.builder import Library, Order
from kernelwright.evaluate.languages.compiler import LIBRARY, shared_object
from kernelwright.evaluate.languages.cuda.compilers import architecture, kernel_facts, messages, refused_flags, spelled
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.languages import too_large
from kernelwright.records.evaluation import BuildFailed, Refused
from kernelwright.records.measure import BuildFacts

MODULE, OWN_HOST, EXTENSION, INTERPRETED = False, True, False, False
BASE_FLAGS = ("-O3", "-shared", "-Xcompiler=-fPIC", "-Xptxas=-v", "--generate-line-info", "--expt-relaxed-constexpr")


def build(order: Order) -> Library | BuildFailed | Refused:
    """A Library for `arch` (`sm_75` … `sm_120`), or why there is none.

    Raises:
        MachineError: nvcc is not here.
        ChildSlowError, ChildGoneError: as `Builder.build`.
    """
    candidate, arch = order.candidate, order.arch
    if reason := refused_flags(candidate.flags):
        return Refused(reason=reason)
    if why := too_large(candidate.source):
        return Refused(reason=why)
    include = toolkit.include_directories()
    chosen = [flag for flag in spelled(candidate.flags) if flag not in ("--lineinfo", "--generate-line-info")]
    argv = [
        toolkit.nvcc(), f"--gpu-architecture={architecture(arch)}", *BASE_FLAGS, *chosen,
        *(f"-D{d.name}={d.value}" for d in candidate.defines), *(f"-I{i}" for i in include if i.endswith("cccl")),
        "kernel.cu", "-o", LIBRARY,
    ]  # fmt: skip
    root = toolkit.toolkit()
    jail = Jail(directory="/", off=order.jail.off, readable=(*include, *([str(root)] if root else [])))
    made = shared_object(order.warm, argv, {"kernel.cu": candidate.source}, order.limit_s, jail)
    if isinstance(made, BuildFailed):
        return BuildFailed(log=messages(made.log) or made.log)
    return Library(made.descriptor, _facts(made.facts, arch))


cross_compile = build


def _facts(facts: BuildFacts, arch: str) -> BuildFacts:
    return facts.model_copy(
        update={
            "compiler": f"nvcc for {architecture(arch)}",
            "warnings": messages(facts.warnings),
            "kernels": kernel_facts(facts.warnings),
        }
    )
