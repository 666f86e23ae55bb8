"""abacus: a device that nobody has."""

from kernelwright.errors import MachineError


def open_backend(*given: object) -> object:
    """Open the device.

    Raises:
        MachineError: always.
    """
    raise MachineError("no abacus is here: use --target cpu")
