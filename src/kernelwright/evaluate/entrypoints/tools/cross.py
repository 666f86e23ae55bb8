"""A Triton candidate compiled, in its own process, without a device: for one that is not here, or into launch plans."""

import ctypes
import socket

from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox.messages.base import Raised
from kernelwright.evaluate.sandbox.messages.tools import BuildCross, Capture, Captured, CapturedPlans, CrossBuilt
from kernelwright.evaluate.triton.capture import capture
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault


class CrossSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self) -> None:
        self._made = ctypes.create_string_buffer(0)

    def build(self, command: BuildCross) -> CrossBuilt | Raised:
        """The build's facts, or the fault."""
        found = cross_compile(command.candidate, command.init, command.workload, command.arch)
        return _told(found) if isinstance(found, Fault) else CrossBuilt(facts=found)

    def capture(self, command: Capture) -> Captured | Raised:
        """Plans as JSON, then the cubins, one after the other at `address`; or the fault."""
        found = capture(command.candidate, command.init, command.workload, command.device)
        if isinstance(found, Fault):
            return _told(found)
        described = CapturedPlans(
            plans=found.plans, unaligned_plans=found.unaligned_plans, aligned_only=found.aligned_only, facts=found.facts
        )
        parts = (described.model_dump_json().encode(), *found.modules)
        data = b"".join(parts)
        self._made = ctypes.create_string_buffer(data, len(data))
        return Captured(address=ctypes.addressof(self._made), sizes=[len(p) for p in parts])


def _told(fault: Fault) -> Raised:
    return Raised(error=f"fault {fault.kind}", log=fault.log)


def serve(control: socket.socket) -> None:
    """Answer until the grader is gone."""
    side = CrossSide()
    session.serve(control, {BuildCross: side.build, Capture: side.capture})
