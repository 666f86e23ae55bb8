"""The filter: its bytes on an interpreter of our own, and in force in a process of its own."""

import errno
import json
import struct
import subprocess
import sys

import pytest

from kernelwright.evaluate.sandbox import seccomp

X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
CLONE_VM_THREAD = 0x00010100
READ, WRITE, MMAP, FUTEX, PTRACE, PROCESS_VM_READV, MOUNT = 0, 1, 9, 202, 101, 310, 165
MAKE_PROCESSES = (seccomp.FORK, seccomp.VFORK, seccomp.EXECVE, seccomp.EXECVEAT)


def verdict(code, number, first=0, arch=X86_64):
    """What the filter returns for one call: classic BPF, as in the kernel's documentation."""
    instructions = [struct.unpack_from("HBBI", code, at) for at in range(0, len(code), 8)]
    data = struct.pack("IIQQ", number, arch, 0, first)
    at = accumulator = 0
    while True:
        operation, yes, no, operand = instructions[at]
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("I", data, operand)[0]
            case 0x15:
                at += yes if accumulator == operand else no
            case 0x35:
                at += yes if accumulator >= operand else no
            case 0x45:
                at += yes if accumulator & operand else no
            case 0x06:
                return operand
            case other:
                raise AssertionError(f"operation {other:#x} is not expected")


@pytest.fixture(params=[False, True], ids=["alone", "with processes"])
def processes(request):
    return request.param


@pytest.fixture
def code(monkeypatch, processes):
    applied = []
    monkeypatch.setattr(seccomp, "apply", applied.append)
    seccomp.install(processes)
    return applied[0]


def test_ordinary_calls_are_allowed(code):
    assert {verdict(code, number) for number in (READ, WRITE, MMAP, FUTEX)} == {ALLOW}


def test_nobody_may_trace_mount_or_leave_namespaces(code):
    for number in (PTRACE, PROCESS_VM_READV, MOUNT, seccomp.UNSHARE, 308, 321, 425):
        assert verdict(code, number) == ERRNO | errno.EPERM


def test_processes_are_for_those_who_may_start_them(code, processes):
    wanted = ALLOW if processes else ERRNO | errno.EPERM
    assert {verdict(code, number) for number in MAKE_PROCESSES} == {wanted}
    assert verdict(code, seccomp.CLONE, first=17) == wanted


def test_threads_are_always_allowed(code):
    assert verdict(code, seccomp.CLONE, first=CLONE_VM_THREAD) == ALLOW


FOREIGN = {
    "NEWNS": 0x00020000, "NEWCGROUP": 0x02000000, "NEWUTS": 0x04000000, "NEWIPC": 0x08000000, "NEWUSER": 0x10000000,
    "NEWPID": 0x20000000, "NEWNET": 0x40000000, "PARENT": 0x00008000,
}  # fmt: skip


@pytest.mark.parametrize("flag", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("others", [17, CLONE_VM_THREAD, 0x00004100 | 17], ids=["fork", "thread", "vfork"])
def test_nobody_gets_a_namespace_or_a_sibling_from_clone(code, flag, others):
    assert verdict(code, seccomp.CLONE, first=flag | others) == ERRNO | errno.EPERM


def test_no_flag_of_an_ordinary_fork_spawn_or_thread_is_refused(code, processes):
    """What glibc and musl give: fork, posix_spawn, pthread_create."""
    wanted = ALLOW if processes else ERRNO | errno.EPERM
    assert {verdict(code, seccomp.CLONE, first=flags) for flags in (0x01200011, 0x00004111)} == {wanted}
    assert {verdict(code, seccomp.CLONE, first=flags) for flags in (0x003D0F00, 0x007D0F00)} == {ALLOW}


def test_clone3_does_not_exist_so_that_libc_uses_clone(code):
    assert verdict(code, seccomp.CLONE3) == ERRNO | errno.ENOSYS


@pytest.mark.parametrize("arch", [AARCH64, I386])
def test_calls_of_another_architecture_kill(code, arch):
    """Their numbers mean other calls."""
    assert verdict(code, READ, arch=arch) == KILL


def test_no_path_through_the_filter_leaves_it(code):
    for number in range(512):
        assert verdict(code, number) in (ALLOW, ERRNO | errno.EPERM, ERRNO | errno.ENOSYS)


PROBES = """
import ctypes, json, os, subprocess, sys, threading
from kernelwright.evaluate.sandbox import kernel, seccomp

def tried(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return 0

def forked():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def spawned():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)

def threaded():
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()

def cloned(flags):
    def clone():
        if kernel.syscall(56, flags | 17, 0, 0, 0, 0) == 0:
            os._exit(0)
    return clone

def denied_call(number, *arguments):
    return lambda: kernel.syscall(number, *arguments)

seen = []
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(sys.argv[1] == "processes")
print(json.dumps({
    "fork": tried(forked), "spawn": tried(spawned), "thread": tried(threaded), "ran": len(seen),
    "ptrace": tried(denied_call(101, 0, 0, 0, 0)), "unshare": tried(denied_call(272, 0)),
    "own user": tried(cloned(0x10000000)), "own network": tried(cloned(0x50000000)), "sibling": tried(cloned(0x8000)),
    "clone": tried(cloned(0)), "clone3": tried(denied_call(435, 0, 0)),
    "again": tried(lambda: kernel.prctl(kernel.PR_SET_SECCOMP, 0)),
}), flush=True)
try:
    os.execv("/bin/echo", ["echo", "another program"])
except OSError as error:
    print(error.errno)
"""


def probe(kind):
    done = subprocess.run([sys.executable, "-c", PROBES, kind], capture_output=True, text=True, check=False)
    found, after = done.stdout.splitlines()
    return json.loads(found), after


def test_in_force_alone():
    found, after = probe("alone")
    assert (found["fork"], found["spawn"], found["thread"], found["ran"]) == (errno.EPERM, errno.EPERM, 0, 1)
    assert (found["ptrace"], found["unshare"]) == (errno.EPERM, errno.EPERM)
    assert found["again"] != 0, "nothing takes the filter away"
    assert after == str(errno.EPERM)


def test_in_force_with_processes():
    found, after = probe("processes")
    assert (found["fork"], found["spawn"], found["thread"]) == (0, 0, 0)
    assert found["ptrace"] == errno.EPERM
    assert after == "another program"
    assert (found["own user"], found["own network"], found["sibling"]) == (errno.EPERM,) * 3
    assert (found["clone"], found["clone3"]) == (0, errno.ENOSYS)


def test_elsewhere_than_on_x86_64_it_says_so(monkeypatch):
    monkeypatch.setattr(seccomp.kernel, "X86_64", False)
    with pytest.raises(OSError, match="x86-64"):
        seccomp.install(False)


def test_sockets_are_of_families_that_namespaces_keep_apart(code):
    assert {verdict(code, seccomp.SOCKET, family) for family in (1, 2, 10)} == {ALLOW}
    others = (0, 3, 4, 15, 16, 17, 21, 29, 30, 38, 40, 44, 45, 1 << 20, (1 << 32) - 1)
    assert {verdict(code, seccomp.SOCKET, family) for family in others} == {ERRNO | errno.EPERM}
    assert verdict(code, seccomp.SOCKET, (1 << 32) + 1) == ALLOW, "the kernel sees 32 bits"


def test_no_socket_reaches_the_hypervisor():
    """In force: vsock, the kernel's cryptography and netlink fail, local and internet sockets do not."""
    text = (
        "import json, socket\n"
        "from kernelwright.evaluate.sandbox import kernel, seccomp\n"
        "kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)\n"
        "seccomp.install(False)\n"
        "def opens(family, kind):\n"
        "    try:\n"
        "        socket.socket(family, kind).close()\n"
        "        return 0\n"
        "    except OSError as error:\n"
        "        return error.errno\n"
        "tried = [(40, 1), (38, 5), (16, 3), (1, 1), (2, 1), (10, 2)]\n"
        "print(json.dumps([opens(*one) for one in tried]))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found[:3] == [errno.EPERM] * 3
    assert found[3:5] == [0, 0]
    assert found[5] in (0, errno.EAFNOSUPPORT)
