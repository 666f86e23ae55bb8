"""A Python candidate that builds its own extension, compiled where its device is not: facts, and nothing to run.

Where the device is present there is no such stage: the extension is built when the candidate's process imports the
module.
"""

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.builder import Built, Dynamic, Order
from kernelwright.evaluate.languages.cuda.compilers import architecture, kernel_facts
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages.tools import BuildExtension
from kernelwright.evaluate.sandbox.process import ChildRaisedError, Process
from kernelwright.records.evaluation import BuildFailed
from kernelwright.records.measure import BuildFacts

MODULE, OWN_HOST, EXTENSION, INTERPRETED = True, True, True, False


def build(order: Order) -> Built:
    """Nothing: the candidate's process builds the extension when it imports the module."""
    return Dynamic(reason="it builds its extension when it is imported")


def cross_compile(order: Order) -> Built:
    """Import the candidate's module in a confined process for the sake of what it compiles; `arch` is `sm_75` … `sm_120`.

    Raises:
        MachineError: nvcc is not here.
        ChildSlowError, ChildGoneError: as `Builder.build`.
        TamperedError: the answer is not one that our code gives.
    """
    toolkit.nvcc()
    root = toolkit.toolkit()
    seen = (*toolkit.include_directories(), *([str(root)] if root else []))
    jail = Jail(directory="/", may_execute=True, readable=seen, tmpfs_bytes=1 << 30, off=order.jail.off)
    child = Process(order.warm.spawn("extension", jail), order.limit_s)
    try:
        built = child.ask(BuildExtension(candidate=order.candidate, arch=architecture(order.arch)))
    except ChildRaisedError as raised:
        return BuildFailed(log=raised.log)
    finally:
        child.close()
    facts = BuildFacts(
        compiler=f"nvcc for {architecture(order.arch)}",
        seconds=built.seconds,
        warnings="\n".join(built.ways),
        kernels=kernel_facts(built.log),
    )
    return Dynamic(reason="nothing of it can run here", facts=facts)
