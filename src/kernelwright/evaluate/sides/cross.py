"""A Triton candidate compiled, in its own process, without a device: for one that is not here, or into launch plans."""

import ctypes
import json
import socket

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.triton.capture import capture
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.knowledge.hardware import Hardware
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload


class CrossSide:
    """State of this process: the bytes that wait to be read."""

    def __init__(self) -> None:
        self._made = ctypes.create_string_buffer(0)

    def build(self, message: Message) -> Message:
        """The build's facts, or the fault."""
        found = cross_compile(_candidate(message), str(message["init"]), _workload(message), str(message["arch"]))
        return _told(found) if isinstance(found, Fault) else {"facts": found.model_dump(mode="json")}

    def capture(self, message: Message) -> Message:
        """Plans as JSON, then the cubins, one after the other at `address`; or the fault."""
        device = Hardware.model_validate(message["device"])
        found = capture(_candidate(message), str(message["init"]), _workload(message), device)
        if isinstance(found, Fault):
            return _told(found)
        described = {
            "plans": [p.model_dump(mode="json") for p in found.plans],
            "unaligned_plans": [p.model_dump(mode="json") for p in found.unaligned_plans],
            "aligned_only": found.aligned_only,
            "facts": found.facts.model_dump(mode="json"),
        }
        parts = (json.dumps(described).encode(), *found.modules)
        data = b"".join(parts)
        self._made = ctypes.create_string_buffer(data, len(data))
        return {"address": ctypes.addressof(self._made), "sizes": [len(p) for p in parts]}


def _candidate(message: Message) -> Candidate:
    return Candidate.model_validate(message["candidate"])


def _workload(message: Message) -> Workload:
    return Workload.model_validate(message["workload"])


def _told(fault: Fault) -> Message:
    return {"error": f"fault {fault.kind}", "log": fault.log}


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `build` and `capture`."""
    side = CrossSide()
    session.serve(control, {"build": side.build, "capture": side.capture})
