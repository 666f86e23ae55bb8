"""What a kernel may not do, tried from inside, all in one process: each deed must fail."""

from pathlib import Path

import pytest
from bad_input import AFFINE

DEEDS = {
    "fork": "fork()",
    "vfork": "syscall(SYS_vfork)",
    "clone a process": "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)",
    "fork by its x32 number": "syscall(0x40000000 + SYS_fork)",
    "start a program": 'execl("/bin/true", "true", nullptr)',
    "start a program by descriptor": 'syscall(SYS_execveat, open("/bin/true", O_RDONLY), "", nullptr, nullptr, AT_EMPTY_PATH)',
    "trace": "ptrace(PTRACE_TRACEME, 0, 0, 0)",
    "read another's memory": "syscall(SYS_process_vm_readv, getppid(), &one, 1, &one, 1, 0)",
    "leave for a new namespace": "unshare(CLONE_NEWUSER)",
    "mount": 'mount("none", "/mnt", "tmpfs", 0, nullptr)',
    "unmount": 'umount2("/proc", MNT_DETACH)',
    "become root": "setuid(0)",
    "another priority": "setpriority(PRIO_PROCESS, 0, -5)",
    "the real-time class": "sched_setscheduler(0, SCHED_FIFO, &first)",
    "set the clock": "settimeofday(&now, nullptr)",
    "memory outside its limit": "shmget(IPC_PRIVATE, 4096, 0600)",
    "io_uring": "syscall(SYS_io_uring_setup, 1, buffer)",
    "catch page faults": "syscall(SYS_userfaultfd, 1)",
    "BPF": "syscall(SYS_bpf, 0, buffer, 64)",
    "performance counters": "syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0)",
    "keys": 'syscall(SYS_add_key, "user", "kernelwright", "x", 1, -1)',
    "write to /tmp": 'open("/tmp/kernelwright-deed", O_CREAT | O_WRONLY, 0600)',
    "write to /var/tmp": 'open("/var/tmp/kernelwright-deed", O_CREAT | O_WRONLY, 0600)',
    "write to shared memory": 'open("/dev/shm/kernelwright-deed", O_CREAT | O_WRONLY, 0600)',
    "write to the kernel's settings": 'open("/proc/sys/kernel/core_pattern", O_WRONLY)',
    "read passwords": 'open("/etc/shadow", O_RDONLY)',
    "read a home": f'open("{Path.home()}/.kernelwright-deeds-secret", O_RDONLY)',
    "list a home": f'open("{Path.home()}", O_RDONLY | O_DIRECTORY)',
    "list others' folders": 'open("/tmp", O_RDONLY | O_DIRECTORY)',
    "reach the network": "connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&where), sizeof where)",
    "stop whoever there is": "kill(-1, SIGSTOP)",
    "write to the inputs": "pwrite(inputs(), buffer, 1, 0)",
    "cut the inputs": "ftruncate(inputs(), 0)",
    "map the inputs for writing": "map_inputs()",
    "write where they are mapped": "mprotect(const_cast<float*>(x), 4096, PROT_READ | PROT_WRITE)",
    "raise its own limit": "setrlimit(RLIMIT_AS, &all)",
    "address space without end": "map(64ul << 30)",
    "a file without end": "long_file()",
}

SOURCE = """
#include <arpa/inet.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

static char buffer[4096];
static iovec one{buffer, 1};
static sched_param first{1};
static timeval now{1, 0};
static sockaddr_in where{AF_INET, htons(53), {htonl(0x01010101)}, {}};
static rlimit all{RLIM_INFINITY, RLIM_INFINITY};

static int inputs() {
    for (int i = 3; i < 64; ++i) {
        const std::string path = "/proc/self/fd/" + std::to_string(i);
        char target[256] = "";
        if (readlink(path.c_str(), target, 255) > 0 && std::string(target).find("arena") != std::string::npos) {
            const int again = open(path.c_str(), O_RDWR);
            return again >= 0 ? again : i;
        }
    }
    return -1;
}
static long map(size_t size, int descriptor = -1, int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, kind, descriptor, 0) == MAP_FAILED ? -1 : 0;
}
static long map_inputs() { return map(4096, inputs(), MAP_SHARED); }
static long long_file() {
    signal(SIGXFSZ, SIG_IGN);
    const int file = open("long", O_CREAT | O_RDWR, 0600);
    return ftruncate(file, 1l << 30);
}

extern "C" void kernel(const float* x, float*) {
DEEDS
    fprintf(stderr, "that is all\\n");
    abort();
}
"""


@pytest.fixture(scope="module")
def report(asked):
    secret = Path.home() / ".kernelwright-deeds-secret"
    secret.write_text("a secret")
    lines = [
        f'    fprintf(stderr, "{name}: %s\\n", ({deed}) >= 0 ? "done" : "denied");' for name, deed in DEEDS.items()
    ]
    try:
        found = asked.judge(asked.admit(AFFINE), SOURCE.replace("DEEDS", "\n".join(lines)))
    finally:
        secret.unlink()
    assert (found.outcome, found.reason) == ("crashed", "aborted"), found
    assert "that is all" in found.log
    return dict(line.split(": ") for line in found.log.splitlines() if ": " in line)


@pytest.mark.parametrize("deed", DEEDS)
def test_a_kernel_may_not(report, deed):
    assert report[deed] == "denied"
