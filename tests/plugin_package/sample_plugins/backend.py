"""hip: AMD's GPUs that are here. This sample has none and says so."""

from kernelwright.errors import MachineError


def open_backend(*given: object) -> object:
    """Open the device.

    Raises:
        MachineError: always.
    """
    raise MachineError("the sample knows no AMD GPU: use --target cpu")
