"""A Triton candidate compiled, in its own process, for an architecture that is not here. Nothing of it runs on data."""

import socket

from kernelwright.evaluate.sandbox.wire import Message
from kernelwright.evaluate.sides import session
from kernelwright.evaluate.triton.cross import cross_compile
from kernelwright.evaluate.triton.fault import Fault
from kernelwright.records.candidate import Candidate
from kernelwright.records.task import Workload


def build(message: Message) -> Message:
    """The build's facts, or the fault."""
    candidate = Candidate.model_validate(message["candidate"])
    workload = Workload.model_validate(message["workload"])
    found = cross_compile(candidate, str(message["init"]), workload, str(message["arch"]))
    if isinstance(found, Fault):
        return {"error": f"fault {found.kind}", "log": found.log}
    return {"facts": found.model_dump(mode="json")}


def serve(control: socket.socket, denied: list[str]) -> None:
    """Answer `build`."""
    session.serve(control, {"build": build})
