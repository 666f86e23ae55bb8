"""The examination behind `doctor`: what this machine can do, and how to fix what it cannot.

A lack either costs something (`lost`) or stops the work (`missing`). Nothing is taken on trust: packages are imported
in a process of their own, a program is compiled and run, a child is really confined. Torch is never imported here.
"""

import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.errors import MachineError, RefereeError, StoreError
from kernelwright.evaluate.backends import look
from kernelwright.evaluate.backends.table import backend_checks
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.jail import LOST, Jail
from kernelwright.evaluate.sandbox.messages.tools import Execute
from kernelwright.evaluate.sandbox.spawn import Warm
from kernelwright.execution.folder import TempFolder
from kernelwright.records.run import Check
from kernelwright.store.secret import NOBODY_S, make_secret, secret_file

LEAST_FREE_BYTES, ENOUGH_FREE_BYTES = 64 << 20, 1 << 30
"""Free disk below which a run cannot be kept, and below which it will soon be full."""

FIXES = {
    "namespaces": "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0), or start the container with --security-opt seccomp=unconfined.",
    "tmpfs": "It needs the namespaces, and a host that allows mounts in them.",
    "landlock": "Use Linux 5.13 or newer with `landlock` among the active security modules (/sys/kernel/security/lsm).",
    "seccomp": "Use an x86-64 kernel with CONFIG_SECCOMP_FILTER.",
    "nobody": "Start as root to give candidates another user; namespaces and Landlock do not need it.",
}
"""How each part of the sandbox is got back."""


def examine() -> list[Check]:
    """Look at everything, side by side. Takes seconds; raises nothing for what is not here."""
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(check) for check in (_python, _packages, _places, *backend_checks(), _sandbox, _disk)]
        return [check for found in looks for check in found.result()]


def _python() -> list[Check]:
    return [Check(name="python", status="ok", detail=f"{platform.python_version()} at {sys.executable}")]


def _packages() -> list[Check]:
    return [look.package("torch"), look.package("numpy")]


def _places() -> list[Check]:
    """Folders of this user's that a run needs: for temporary files, and for the secret that seals what is stored."""
    temporary = f"temporary files in {tempfile.gettempdir()}"
    try:
        TempFolder().remove()
        found = [Check(name="temporary files", status="ok", detail=temporary)]
    except OSError as error:
        fix = "Name a folder that you can write to in TMPDIR."
        found = [Check(name="temporary files", status="missing", detail=f"{temporary}: {error.strerror}", fix=fix)]
    try:
        kept = make_secret() is not NOBODY_S
    except StoreError as error:
        return [
            *found,
            Check(name="secret", status="missing", detail="what is stored cannot be proved", fix=str(error)),
        ]
    told = (
        f"{secret_file()} seals what is stored"
        if kept
        else f"no secret can be kept in {secret_file().parent}: runs are unproved"
    )
    fix = "" if kept else "Name a folder that you can write to in XDG_STATE_HOME."
    return [*found, Check(name="secret", status="ok" if kept else "lost", detail=told, fix=fix)]


def _sandbox() -> list[Check]:
    """One check for each part of the sandbox, from a child that was really confined."""
    try:
        denied = _denied()
    except (MachineError, RefereeError, ChildGoneError, OSError) as error:
        told = f"no child could be confined: {error}"
        fix = "Nothing can be judged without one; see what the message says, and whether torch can be imported."
        return [Check(name="sandbox", status="missing", detail=told, fix=fix)]
    except ChildSlowError as slow:
        told = f"a confined child gave {slow}"
        return [Check(name="sandbox", status="missing", detail=told, fix="Try again when the machine is less busy.")]
    return [_part(part, denied) for part in LOST]


def _denied() -> list[str]:
    with Warm() as warm:
        child = warm.spawn("tool", Jail(directory="/", may_execute=True))
        try:
            child.ask(Execute(argv=("true",), texts={}), look.LIMIT_S)
            return list(child.denied)
        finally:
            child.close()


def _part(part: str, denied: Sequence[str]) -> Check:
    if part not in denied:
        return Check(name=f"sandbox: {part}", status="ok", detail="in force")
    told = f"the host denies it: {LOST[part]}"
    return Check(name=f"sandbox: {part}", status="lost", detail=told, fix=FIXES[part])


def _disk() -> list[Check]:
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    told = f"{free / 1e9:.1f} GB free for runs in {here}"
    if free >= ENOUGH_FREE_BYTES:
        return [Check(name="disk", status="ok", detail=told)]
    fix = "Free some space, or put runs elsewhere with --run-dir."
    return [Check(name="disk", status="lost" if free >= LEAST_FREE_BYTES else "missing", detail=told, fix=fix)]
