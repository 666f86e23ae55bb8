"""Landlock: what of the file system a process may still read and write. Needs no privilege.

Also confines ptrace and, from ABI 6 on, signals to the process's own domain. ABI numbers: the kernel's
Landlock documentation.
"""

import ctypes
import os
import struct
from collections.abc import Sequence

from kernelwright.evaluate.sandbox import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_ABI1 = (1 << 13) - 1
_REFER = 1 << 13
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1, 2


def abi() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, ctypes.c_uint32(_VERSION_FLAG))
    except OSError:
        return 0


def restrict(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Confine this process for ever to these trees; paths that do not exist are left out.

    `no_new_privs` must be set before.

    Raises:
        OSError: the kernel has no Landlock, or denies it.
    """
    version = abi()
    handled = _handled(version)
    scoped = _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, 0, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & handled)
        for path in writable:
            _allow(ruleset, path, handled)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    extra = _REFER * (version >= 2) | _TRUNCATE * (version >= 3) | _IOCTL * (version >= 5)
    return _ALL_ABI1 | extra


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 (a path may be a device node; pathlib would resolve it)
            access &= _FILE_ONLY
        rule = struct.pack("=Qi", access, descriptor)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
