"""What a child gives up before it runs untrusted code.

In this order: namespaces, private tmpfs, limits, identity, no_new_privs, Landlock, seccomp. Each part that the host
denies is named, never skipped silently.

Where it has a mount namespace of its own, the child sees a private tmpfs, its own /proc, and no home directory but the
interpreter's: an interpreter may live below a directory that only its owner may enter (a pyenv in a home directory), which
is then covered by an empty one in which only the interpreter is visible.
"""

import contextlib
import os
import resource
import signal
import site
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from kernelwright.evaluate.sandbox import kernel, landlock, seccomp
from kernelwright.records.base import Record

_TMPFS = kernel.MS_NOSUID | kernel.MS_NODEV
MS_BIND = 4096

NOBODY = 65534
ITS_THREADS = 256 + 8 * (os.cpu_count() or 1)
"""Threads of a child that has a user of its own."""
MOST_THREADS = 1024 + 64 * (os.cpu_count() or 1)
"""Threads of all children that share a user: every open task's reference has one for each core and some of torch's and the
driver's, and waits for ever for one that it cannot start."""
CARRIED = ("pydantic", "torch", "triton")
"""A folder of the search path that holds one of these is one of packages, wherever it lies."""
SEEN = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYTORCH_NVML_BASED_CUDA_CHECK")
"""Kept of the referee's environment: a child on another GPU than the grader's could not map what is handed to it, and one that
uses none must not ask the driver."""
LOST = {
    "namespaces": "the candidate shares the network, IPC and process namespaces of the referee",
    "tmpfs": "its private directory lives on the host's disk and is limited by file size only",
    "landlock": "it can read and write whatever its user can",
    "seccomp": "it can start processes and trace its own user's processes",
    "nobody": "it runs as the same user as the referee, and shares that user's limits",
}
"""What is lost when the host denies a part."""


def private(directory: str, size: int, trees: Iterable[str]) -> None:
    """Cover `directory` with an empty tmpfs of `size` bytes and expose `trees` to every user.

    Raises:
        OSError: the host denies mounts.
    """
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    # The directory itself may lie below one that only the referee may enter, as private folders for temporary files do.
    for closed, inside in _closed([*trees, directory]).items():
        _cover(closed, inside)
    kernel.mount("tmpfs", directory, "tmpfs", _TMPFS, f"size={size},mode=0777")
    # A fresh /proc hides the host's processes; a container may deny it, which loses nothing that Landlock and the
    # change of user do not cover.
    with contextlib.suppress(OSError):
        kernel.mount("proc", "/proc", "proc", _TMPFS)


def reachable(path: str) -> bool:
    """Whether every user may enter all directories above `path`, if there is such a path."""
    return not Path(path).exists() or _first_closed(path) is None


def _closed(trees: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tree in trees:
        closed = _first_closed(tree)
        if closed is not None and Path(tree).exists():
            found.setdefault(closed, []).append(tree)
    return found


def _first_closed(path: str) -> str | None:
    for parent in reversed(Path(path).parents):
        with contextlib.suppress(OSError):
            if not parent.stat().st_mode & stat.S_IXOTH:
                return str(parent)
    return None


def _cover(closed: str, trees: list[str]) -> None:
    tops = [t for t in trees if not any(t != o and t.startswith(o + "/") for o in trees)]
    held = {tree: os.open(tree, os.O_PATH) for tree in tops}
    kernel.mount("tmpfs", closed, "tmpfs", _TMPFS, "size=1m,mode=0755")
    for tree, descriptor in held.items():
        Path(tree).mkdir(parents=True, exist_ok=True)
        kernel.mount(f"/proc/self/fd/{descriptor}", tree, None, MS_BIND | kernel.MS_REC)
        os.close(descriptor)


class Jail(Record):
    """The confinement of one child."""

    user: int = NOBODY
    """Whom it becomes where the referee is root."""
    directory: str
    """Its private directory: current directory, HOME, TMPDIR, and the only place it may write."""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    """Trees beside its own directory; only the reference's compiler cache so far."""
    may_execute: bool = False
    loopback: bool = False
    """Processes in it may talk to each other over 127.0.0.1 of their own network namespace, as profilers do."""
    memory_bytes: int = 16 << 30
    """Address space that it may add to what it was born with."""
    tmpfs_bytes: int = 256 << 20
    off: tuple[str, ...] = ()
    """Parts that a test switched off, by their names in LOST; `limits` as well."""
    environment: dict[str, str] = Field(default_factory=dict)


def leave_namespaces(jail: Jail) -> bool:
    """Enter own network, IPC, mount and process namespaces; the *next* child is the first process of them."""
    if "namespaces" in jail.off:
        return False
    spaces = kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID
    user, group = os.getuid(), os.getgid()
    try:
        if user == 0:
            kernel.unshare(spaces)
        else:
            kernel.unshare(spaces | kernel.CLONE_NEWUSER)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError:
        return False
    if jail.loopback:
        with contextlib.suppress(OSError):
            kernel.raise_loopback()
    return True


def enter(jail: Jail, isolated: bool) -> list[str]:
    """Confine this process; it must be single-threaded. Returns the parts that the host denied."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    root = os.getuid() == 0
    denied = [] if isolated else ["namespaces"]
    if not (isolated and _private_mounts(jail)):
        denied.append("tmpfs")
    _settle(jail)
    if "limits" not in jail.off:
        _limit(jail)
    if "nobody" in jail.off or not _become_nobody(root, jail.user):
        denied.append("nobody")
    if "nobody" not in jail.off:
        _drop_capabilities(jail)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if not _landlock(jail):
        denied.append("landlock")
    elif isolated and "nobody" in denied and _alone_in_user_namespace():
        # Without root there is no other user to become: no capability, and Landlock, stand for it.
        denied.remove("nobody")
    if not _seccomp(jail):
        denied.append("seccomp")
    return [part for part in denied if part not in jail.off]


def _private_mounts(jail: Jail) -> bool:
    try:
        private(jail.directory, jail.tmpfs_bytes, [*system_trees(), *jail.readable, *jail.writable])
    except OSError:
        return False
    return True


def _settle(jail: Jail) -> None:
    # Where memory runs out, it is the child that is killed.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    os.chdir(jail.directory)
    seen = {name: os.environ[name] for name in SEEN if name in os.environ}
    os.environ.clear()
    home = jail.directory
    # Parts of torch ask for the user's name as they are imported, and no such user is known to the machine.
    os.environ.update({"HOME": home, "TMPDIR": home, "LOGNAME": "candidate", "PATH": "/usr/bin:/bin"})
    # Triton has looked up HOME when the warm parent imported it, so its cache is named here again.
    os.environ["TRITON_CACHE_DIR"] = f"{home}/triton"
    os.environ.update(seen)
    os.environ.update(jail.environment)
    # Whatever the warm parent imported may have looked up its own folder for temporary files.
    tempfile.tempdir = home
    _keep_headers_here()


def _keep_headers_here() -> None:
    """Inductor settles where its compiled headers lie as it is imported: in the parent's folder, where no child may write."""
    if (codecache := sys.modules.get("torch._inductor.codecache")) is not None:
        base = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or codecache.default_cache_dir()
        place = f"{base}/precompiled_headers"
        vars(codecache).update(_HEADER_DIR=place, _HEADER_LOCK_DIR=f"{place}/locks")


def _limit(jail: Jail) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + jail.memory_bytes
    files = jail.tmpfs_bytes if jail.may_execute else 16 << 20
    for name, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, files),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 4096),
        (resource.RLIMIT_NPROC, MOST_THREADS if jail.user == NOBODY else ITS_THREADS),
    ):
        hard = resource.getrlimit(name)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (limit, limit))


def _become_nobody(root: bool, user: int) -> bool:
    # Without a mount namespace of its own, an interpreter in a closed home would be out of nobody's reach.
    if not root or not all(reachable(t) for t in (*system_trees(), str(Path.cwd()))):
        return False
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:
        return False
    # Changing the user clears the death signal and the dumpable flag; the first is wanted again.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    return True


def _drop_capabilities(jail: Jail) -> None:
    """A new user has none already; who stayed root keeps what the reference needs for its cache, which is nobody's."""
    with contextlib.suppress(OSError):
        os.chown(jail.directory, os.getuid(), os.getgid())
    with contextlib.suppress(OSError):
        kernel.keep_capabilities([kernel.CAP_DAC_OVERRIDE] if jail.writable and os.getuid() == 0 else [])


def _alone_in_user_namespace() -> bool:
    return Path("/proc/self/uid_map").read_text().split()[2:] == ["1"]


def _landlock(jail: Jail) -> bool:
    if "landlock" in jail.off:
        return False
    try:
        landlock.restrict(
            [*system_trees(), *jail.readable],
            [jail.directory, *jail.writable, "/dev/null", "/dev/zero", *_gpu_devices()],
        )
    except OSError:
        return False
    return True


def _seccomp(jail: Jail) -> bool:
    if "seccomp" in jail.off:
        return False
    try:
        seccomp.install(jail.may_execute)
    except OSError:
        return False
    return True


def system_trees() -> tuple[str, ...]:
    """What every interpreter and compiler needs to read, and nothing of the user's own files."""
    package = str(Path(__file__).resolve().parents[2])
    packages = [p for p in (*site.getsitepackages(), site.getusersitepackages()) if p]
    carried = [p for p in sys.path if p and any(Path(p, name).is_dir() for name in CARRIED)]
    return (
        "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
        "/etc/alternatives", "/etc/passwd", "/etc/nsswitch.conf", "/etc/localtime",
        "/proc", "/sys/devices", "/sys/class", "/sys/bus", "/sys/fs/cgroup", "/sys/module",
        "/dev/urandom", "/dev/random", "/opt",
        sys.prefix, sys.base_prefix, sys.exec_prefix, package, *packages, *carried,
    )  # fmt: skip


def _gpu_devices() -> list[str]:
    """The device nodes, and /proc: the CUDA driver names its threads through /proc/self/task, and fails without."""
    nodes = [str(p) for p in Path("/dev").glob("nvidia*")]
    return [*nodes, "/proc"] if nodes else []
