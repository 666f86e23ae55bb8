"""What PyTorch's compiler writes for a task, asked of a confined child that runs the task's own code and no candidate's.

No device is needed, and none is touched: tensors have no memory there, and a GPU is the facts of its sheet.
"""

from kernelwright.evaluate.backends.host import Host
from kernelwright.evaluate.backends.reference import LIMIT_S, reference_jail
from kernelwright.evaluate.sandbox.candidate_process import CandidateProcess, ChildRaisedError, TamperedError
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.tools import Lower
from kernelwright.knowledge.hardware import hardware, sheet
from kernelwright.records.lowering import Lowering, Options
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskSource

WHY = 300
"""Most characters of a reason."""


def lower(host: Host, source: TaskSource, target: Target, policy: Policy, options: Options) -> Lowering:
    """The text, or why there is none: whatever the task's code and the compiler raise is a reason, not a fault."""
    device = None if target.kind == "cpu" else sheet(target.device) or hardware(target.arch)
    command = Lower(
        source=source.source, numerics=policy.numerics, device=device, threads=host.device.cores, options=options
    )
    child = CandidateProcess(host.warm.spawn("lowering", reference_jail(policy.memory_bytes * 2)), LIMIT_S)
    try:
        return child.ask(command).lowering
    except ChildRaisedError as raised:
        return Lowering(missing=_last_line(raised))
    except (ChildGoneError, ChildSlowError, TamperedError) as error:
        return Lowering(missing=f"the process that ran the compiler failed: {error}"[:WHY])
    finally:
        child.close()


def _last_line(raised: ChildRaisedError) -> str:
    lines = [line.strip() for line in raised.log.splitlines() if line.strip()]
    return (lines[-1] if lines else raised.name)[:WHY]
