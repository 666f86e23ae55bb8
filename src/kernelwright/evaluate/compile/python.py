"""A Python candidate that builds its own extension, compiled where its device is not: facts, and nothing to run.

Where the device is present there is no such stage: the extension is built when the candidate's process imports the
module.
"""

from pathlib import Path

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.compile import assembler_log
from kernelwright.evaluate.compile.cuda_flags import architecture
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import BuildExtension
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.measure import BuildFacts


def build(
    warm: Warm,
    candidate: Candidate,
    arch: str,
    limit_s: float,
    off: tuple[str, ...] = (),
    headers: Path | None = None,
) -> BuildFacts | BuildFailed:
    """Import the candidate's module in a confined process for the sake of what it compiles.

    Args:
        warm: forks the process.
        candidate: a `python` candidate with its defines chosen.
        arch: `sm_75` … `sm_120`.
        limit_s: seconds.
        off: parts of the sandbox that a test switched off.
        headers: torch's headers, precompiled; None where nobody has made them.

    Raises:
        MachineError: nvcc is not here.
        ChildSlowError, ChildGoneError: as `cpp.build`.
        TamperedError: the answer is not one that our code gives.
    """
    toolkit.nvcc()
    root = toolkit.toolkit()
    seen = [*toolkit.include_directories(), *([str(root)] if root else []), *([str(headers)] if headers else [])]
    jail = Jail(directory="/", may_execute=True, readable=tuple(seen), tmpfs_bytes=1 << 30, off=off)
    child = Contestant(warm.spawn("extension", jail), limit_s)
    try:
        given = str(headers) if headers else None
        built = child.ask(BuildExtension(candidate=candidate, arch=architecture(arch), headers=given))
    except ChildRaisedError as raised:
        return BuildFailed(log=raised.log)
    finally:
        child.close()
    return BuildFacts(
        compiler=f"nvcc for {architecture(arch)}",
        seconds=built.seconds,
        warnings="\n".join(built.ways),
        kernels=assembler_log.kernel_facts(built.log),
    )
