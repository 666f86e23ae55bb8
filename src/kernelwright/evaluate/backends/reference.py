"""The confinement of a task's reference, the same on every backend, and where its compiled baselines are kept."""

import contextlib
import os
from pathlib import Path

from kernelwright.evaluate.sandbox.jail import NOBODY, Jail

LIMIT_S = 180.0
"""Longest that one question to a reference may take while its task is admitted."""


def reference_jail(memory_bytes: int) -> Jail:
    """A reference may start a compiler and keep what torch.compile built; otherwise it is confined as a candidate."""
    cache = cache_directory()
    if os.getuid() == 0:
        # A run on a host that denied another user may have left files of root's there.
        for directory, _, files in os.walk(cache):
            for path in (Path(directory), *(Path(directory, name) for name in files)):
                _hand_over(path)
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Its own probing of instruction sets takes ten seconds and finds what the compiler's -march=native knows.
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "USER": "kernelwright",
    }
    return Jail(
        directory="/",
        writable=(str(cache),),
        may_execute=True,
        memory_bytes=memory_bytes,
        tmpfs_bytes=1 << 30,
        environment=environment,
    )


def _hand_over(path: Path) -> None:
    """Give what is root's to nobody. Another referee's compiler may have renamed it meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_uid == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def cache_directory() -> Path:
    """Where compiled baselines are kept between runs; only references' processes write there."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelwright" / "inductor"
    base.mkdir(parents=True, exist_ok=True)
    return base
