"""Numbers and hostile text as words for people, the same in the terminal and in the HTML report."""

import math
import re

from kernelwright.records.answer import bare

OUTCOME_MEANING: dict[str, str] = {
    "measured": "right in every case, and timed",
    "verified": "right, and not timed",
    "compiled": "built for a device that is not here, not run",
    "incorrect": "ran and was wrong",
    "suspect": "looked right and fast in a way that honest code does not",
    "crashed": "its process ended by itself",
    "timed_out": "killed at its time limit",
    "build_failed": "the compiler refused it",
    "refused": "broke the contract or the policy, not built",
}
"""One line for each outcome, best first."""

SIDE: dict[str, str] = {
    "candidate": "this kernel",
    "eager": "eager",
    "compile": "torch.compile",
    "compile_max": "max-autotune",
    "freeze": "weights as constants",
    "graph": "CUDA graph",
}

WRITER: dict[str, str] = {
    "author": "the built-in author",
    "inductor": "PyTorch's compiler (inductor)",
    "outside": "a coding agent",
}
"""Proposers, as people call them."""

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for line ends and tabs, lone surrogates, and marks that reorder a line."""


def outcome(name: str) -> str:
    """An outcome's name as people write it."""
    return name.replace("_", " ")


def attempts(count: int) -> str:
    """A number of attempts."""
    return "1 attempt" if count == 1 else f"{count} attempts"


def visible(text: str) -> str:
    """`text` with nothing in it that acts on a terminal, reorders a line or cannot be encoded.

    Control characters, lone surrogates and bidirectional marks become their code points in brackets;
    line ends are normalised.
    """
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def clip(text: str, limit: int) -> str:
    """At most `limit` characters: the beginning and the end, with what was left out said between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def line(text: str, limit: int = 160) -> str:
    """`text` on one line of at most `limit` characters."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def microseconds(value_us: float) -> str:
    """A time given in microseconds, in the unit that suits it."""
    if not math.isfinite(value_us):
        return str(value_us)
    if value_us >= 1e6:
        return f"{bare(value_us / 1e6)} s"
    if value_us >= 1e3:
        return f"{bare(value_us / 1e3)} ms"
    return f"{bare(value_us)} µs"


def seconds(value_s: float) -> str:
    """A time given in seconds, in the unit that suits it; minutes above two of them."""
    if value_s == 0:
        return "0 s"
    if value_s >= 120:
        return f"{int(value_s // 60)} min {int(value_s % 60)} s"
    return microseconds(value_s * 1e6)


def size(value_bytes: int) -> str:
    """Bytes in binary units."""
    if value_bytes < 1024:
        return f"{value_bytes} B"
    value = value_bytes / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{bare(value)} {unit}"
        value /= 1024
    return f"{bare(value)} TiB"


def error(value: float) -> str:
    """A relative error: `0`, or two significant digits in scientific notation."""
    return "0" if value == 0 else f"{value:.1e}"


def percent(share: float) -> str:
    """A share of one as whole percent; one decimal below ten."""
    value = 100 * share
    return f"{value:.1f} %" if abs(value) < 10 else f"{value:.0f} %"
