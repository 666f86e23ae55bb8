"""The drill: a chat server that writes with the built-in author, and errs by a seed. Never a model's result."""

from kernelwright.testing.drill.faults import At, Faults
from kernelwright.testing.drill.record import Served
from kernelwright.testing.drill.server import DrillServer
from kernelwright.testing.drill.shown import MODEL

__all__ = ["MODEL", "At", "DrillServer", "Faults", "Served"]
