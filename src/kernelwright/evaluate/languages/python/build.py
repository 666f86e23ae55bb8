"""A Python candidate that builds its own extension, compiled where its device is not: facts, and nothing to run.

Where the device is present there is no such stage: the extension is built when the candidate's process imports the
module.
"""

from kernelwright.evaluate import toolkit
from kernelwright.evaluate.languages.artifact import Built, Dynamic
from kernelwright.evaluate.languages.builder import Order
from kernelwright.evaluate.languages.cuda import assembler_log
from kernelwright.evaluate.languages.cuda.flags import architecture
from kernelwright.evaluate.sandbox.contestant import ChildRaisedError, Contestant, TamperedError, legible
from kernelwright.evaluate.sandbox.jail import Jail
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
    child = Contestant(order.warm.spawn("extension", jail), order.limit_s)
    try:
        answer = child.ask(
            {
                "do": "build",
                "candidate": order.candidate.model_dump(mode="json"),
                "arch": architecture(order.arch),
                "headers": None,
            }
        )
        log = legible(answer["log"])
        facts = BuildFacts(
            compiler=f"nvcc for {architecture(order.arch)}",
            seconds=float(answer["seconds"]),
            warnings="\n".join(legible(way) for way in answer["ways"]),
            kernels=assembler_log.kernel_facts(log),
        )
        return Dynamic(reason="nothing of it can run here", facts=facts)
    except ChildRaisedError as raised:
        return BuildFailed(log=raised.log)
    except (KeyError, TypeError, ValueError) as error:
        raise TamperedError(f"malformed answer of the compiling process: {error!r}") from None
    finally:
        child.close()
