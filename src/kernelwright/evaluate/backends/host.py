"""Host: what all backends on one device hold in common, and what they may share with each other."""

import hashlib
from dataclasses import dataclass, field

from kernelwright.evaluate.backends.turn import Turn
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.records.run import Device


@dataclass
class Host:
    """A device with the warm parent of the processes that work for it."""

    warm: Warm
    device: Device
    turn: Turn = field(default_factory=Turn)
    """Held by whoever uses the device: nothing else may run beside a clock."""

    def close(self) -> None:
        """End the warm parent and with it every child."""
        self.warm.close()


def hash_block() -> None:
    """Work for one core that does not hold the interpreter's lock."""
    hashlib.sha256(_BLOCK).digest()


_BLOCK = bytes(1 << 20)
