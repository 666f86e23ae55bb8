"""A seccomp filter as a short classic-BPF program: which system calls fail with EPERM.

Two lists: what no untrusted code needs (tracing, mounts, kernel modules, io_uring, memory outside its limit), and, unless
the child may start programs, everything that makes a process. Threads stay allowed. Nobody gets a namespace of its own, in
which it would be root, nor a child that is another's (`clone` with `_FOREIGN`). `clone3`, whose flags a filter cannot see,
answers ENOSYS so that libc falls back to `clone`. Sockets are of families alone that namespaces keep apart: not of vsock,
which reaches the host of a virtual machine, nor of the kernel's own interfaces. x86-64 only: elsewhere `install` raises
OSError.
"""

import ctypes
import errno
import struct
from collections.abc import Iterable

from kernelwright.evaluate.sandbox import kernel

_ARCH_X86_64 = 0xC000003E
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_THREAD, _CLONE_PARENT = 0x00010000, 0x00008000
_FOREIGN = (
    kernel.CLONE_NEWNS | kernel.CLONE_NEWCGROUP | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | _CLONE_PARENT
)  # fmt: skip
"""Flags of `clone` that no child needs. CLONE_NEWTIME is none of them: `clone` reads its bit as a part of the signal."""
_X32 = 0x40000000
"""Second numbers of every call, for the x32 ABI, which some kernels still have."""

SOCKET, FAMILIES = 41, (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6."""
CLONE, FORK, VFORK, EXECVE, EXECVEAT, CLONE3, UNSHARE = 56, 57, 58, 59, 322, 435, 272
_NEVER = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "unshare": UNSHARE, "setns": 308,
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "io_uring_setup": 425, "keyctl": 250, "add_key": 248, "request_key": 249,
    "init_module": 175, "finit_module": 313, "kexec_load": 246, "reboot": 169, "pidfd_getfd": 438,
    "move_mount": 429, "open_tree": 428, "fsopen": 430, "mount_setattr": 442,
    "shmget": 29,
}  # fmt: skip


def install(may_execute: bool) -> None:
    """Filter this process and all it starts, for ever. `no_new_privs` must be set before.

    Raises:
        OSError: not x86-64, or the kernel denies filters.
    """
    denied = [*_NEVER.values(), *(() if may_execute else (FORK, VFORK, EXECVE, EXECVEAT))]
    apply(program(denied, processes=may_execute))


def program(denied: Iterable[int], processes: bool) -> bytes:
    """The filter: EPERM for what is in `denied`, other sockets, `clone` with `_FOREIGN`, and without `processes` new ones."""
    code = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_JUMP_EQUAL, 1, 0, _ARCH_X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    for number in denied:
        code += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    code += [(_JUMP_EQUAL, 0, 1, CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [
        (_JUMP_EQUAL, 0, len(FAMILIES) + 3, SOCKET),
        (_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        *((_JUMP_EQUAL, len(FAMILIES) - n, 0, family) for n, family in enumerate(FAMILIES)),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    # Last: the flags take the place of the call's number.
    code += [
        (_JUMP_EQUAL, 1, 0, CLONE),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        (_JUMP_SET, 0, 1, _FOREIGN),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    if not processes:
        code += [(_JUMP_SET, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def apply(code: bytes) -> None:
    """Install a compiled filter.

    Raises:
        OSError: not x86-64, or denied.
    """
    if not kernel.X86_64:
        raise OSError(errno.ENOSYS, "the seccomp filter is written for x86-64")
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, header)
