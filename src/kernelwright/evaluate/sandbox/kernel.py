"""Linux calls that Python does not wrap, through ctypes. They raise OSError as `os` does.

`os.unshare` arrives with Python 3.12; 3.11 is supported, so it is here as well.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import platform
import signal
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 1, 2, 4, 16384, 1 << 18

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 4, 38, 22
PR_SET_CHILD_SUBREAPER = 36
CAP_DAC_OVERRIDE = 1
_CAPSET, _CAPABILITY_VERSION_3 = 126, 0x20080522
SECCOMP_MODE_FILTER = 2

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
"""Of a network device: SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP."""

_BLOCK = 1 << 18
"""Bytes that are written from one block of ours, which stays in a cache."""
_MOST_PIECES = 1024
"""IOV_MAX: pieces of memory that one call reads or writes."""

ABORTED = int(signal.SIGABRT)
X86_64 = platform.machine() == "x86_64"

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def unshare(flags: int) -> None:
    """Leave the named namespaces."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system."""
    encoded = [None if s is None else s.encode() for s in (source, target, kind, data)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), "mount")


def raise_loopback() -> None:
    """Switch on the loopback device of a new network namespace, where it is down.

    Raises:
        OSError: not privileged in this namespace.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sH22x", b"lo", 0))
        flags = struct.unpack_from("16sH", answer)[1] | _UP
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH22x", b"lo", flags))


def prctl(option: int, argument: int, pointer: object = 0) -> None:
    """Change a property of this process."""
    third = pointer if not isinstance(pointer, int) else ctypes.c_ulong(pointer)
    _check(_libc.prctl(option, ctypes.c_ulong(argument), third, 0, 0), "prctl")


def syscall(number: int, *arguments: object) -> int:
    """A system call that libc has no wrapper for."""
    return _check(_libc.syscall(ctypes.c_long(number), *arguments), f"syscall {number}")


def keep_capabilities(kept: Iterable[int] = ()) -> None:
    """Give up every other capability, for ever once `no_new_privs` is set. Numbers below 32, x86-64 only.

    Raises:
        OSError: one of `kept` is not held.
    """
    mask = sum(1 << number for number in kept)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    syscall(_CAPSET, header, struct.pack("6I", mask, mask, 0, 0, 0, 0))


def exit_on_abort() -> None:
    """Have abort(3) exit with status ABORTED: the first process of a namespace survives the signal itself."""
    _libc.signal(signal.SIGABRT, _libc._exit)


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_process(pid: int, pieces: Sequence[tuple[int, int]], into: int) -> None:
    """Copy pieces of memory of process `pid`, (address, bytes) each, one behind the other to our own address `into`.

    Raises:
        OSError: the memory is not mapped there, or reading is not permitted.
    """
    waiting = [(address, length) for address, length in pieces if length]
    while waiting:
        batch = waiting[:_MOST_PIECES]
        remote = (_Iovec * len(batch))(*(_Iovec(*piece) for piece in batch))
        local = _Iovec(into, sum(length for _, length in batch))
        done = _check(_libc.process_vm_readv(pid, ctypes.byref(local), 1, remote, len(batch), 0), "process_vm_readv")
        if not done:
            raise OSError(errno.EFAULT, "process_vm_readv: nothing was read")
        into += done
        # One call copies 2 GB at most, and may end within a piece.
        while waiting and done >= waiting[0][1]:
            done -= waiting.pop(0)[1]
        if done:
            address, length = waiting[0]
            waiting[0] = (address + done, length - done)


def read_pieces(pid: int, addresses: Sequence[int], into: int, length: int) -> None:
    """Copy `length` bytes at each of up to 1024 addresses of process `pid`, one after the other, to our own address `into`.

    Raises:
        OSError: the memory is not mapped there, or reading is not permitted.
    """
    remote = (_Iovec * len(addresses))(*(_Iovec(a, length) for a in addresses))
    local, size = _Iovec(into, length * len(addresses)), length * len(addresses)
    done = _libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), len(addresses), 0)
    if _check(done, "process_vm_readv") != size:
        raise OSError(errno.EFAULT, f"only {done} of {size} bytes are there")


def fill_process(pid: int, areas: Iterable[tuple[int, int, int]]) -> None:
    """Fill memory of process `pid`: each area is an address, a number of bytes, and the byte that all of them become.

    Raises:
        OSError: the memory is not mapped there, is not writable, or writing is not permitted.
    """
    pieces = [
        (address + done, min(_BLOCK, length - done), value)
        for address, length, value in areas
        for done in range(0, length, _BLOCK)
    ]
    blocks = {value: ctypes.create_string_buffer(bytes([value]) * _BLOCK) for value in {v for _, _, v in pieces}}
    for first in range(0, len(pieces), _MOST_PIECES):
        some = pieces[first : first + _MOST_PIECES]
        local = (_Iovec * len(some))(*(_Iovec(ctypes.addressof(blocks[value]), size) for _, size, value in some))
        remote = (_Iovec * len(some))(*(_Iovec(address, size) for address, size, _ in some))
        wanted = sum(size for _, size, _ in some)
        done = _libc.process_vm_writev(pid, ctypes.byref(local), len(some), ctypes.byref(remote), len(some), 0)
        if _check(done, "process_vm_writev") != wanted:
            raise OSError(errno.EFAULT, f"only {done} of {wanted} bytes could be written")


def page_entries(pid: int, areas: Iterable[tuple[int, int]]) -> bytes:
    """What /proc/PID/pagemap says of every page of these areas (address, bytes): eight bytes a page.

    Raises:
        OSError: this host does not tell.
    """
    descriptor = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = []
        for address, length in areas:
            first, last = address // mmap.PAGESIZE, -(-(address + length) // mmap.PAGESIZE)
            found.append(os.pread(descriptor, 8 * (last - first), 8 * first))
        return b"".join(found)
    finally:
        os.close(descriptor)


for _name in ("process_vm_readv", "process_vm_writev"):
    _function = getattr(_libc, _name)
    _function.restype = ctypes.c_ssize_t
    _function.argtypes = (
        ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong,
    )  # fmt: skip
_libc.syscall.restype = ctypes.c_long
_libc.signal.argtypes, _libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p


TRIES, PAUSE_S = 1000, 0.001
"""How often what is left is looked for: each time what began meanwhile is ended too."""


def descendants(pid: int) -> list[int]:
    """The processes that a process has begun or taken in, and theirs, without those that have ended."""
    found, todo = [], [pid]
    while todo:
        alive = [child for child in _children(todo.pop()) if is_alive(child)]
        found += alive
        todo += alive
    return found


def waited_s(pid: int) -> float:
    """Seconds that a process's first thread was ready to run while others had the processors; 0.0 where nobody tells."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def is_alive(pid: int) -> bool:
    """Whether it is there, and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end_descendants() -> None:
    """End every process below this one.

    For a keeper where the host denies a process namespace, which would end with its child: what the child leaves behind is
    taken in (`PR_SET_CHILD_SUBREAPER`) and ended after it.
    """
    for _ in range(TRIES):
        left = descendants(os.getpid())
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found
