"""Handicaps: ways to make a good kernel slow whose bottleneck is known and named by the referee's own diagnosis.

None changes a result. A handicap is written into the source; one that must be known earlier (the grid) changes the schedule.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from kernelwright.devices import kinds
from kernelwright.propose.author.families.rows.schedule import CppSchedule, TritonSchedule
from kernelwright.records.candidate import Candidate
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.task import Task

SHORT_BYTES = 400_000
"""Compulsory bytes below which a CPU's call is so short that its fixed price is what the diagnosis names."""


class Handicap(NamedTuple):
    """One way to be slow."""

    name: str
    bottleneck: Bottleneck
    """What it makes the kernel wait for; only a prompt that names this lifts it."""
    note: str
    blurred: Bottleneck | None = None
    """What a referee without counters may call it instead; this lifts it too."""


WAITING = (
    Handicap(
        "division_chain",
        "latency",
        "every element waits for divisions of which each waits for the one before",
        "launch",
    ),
    Handicap(
        "product_chain", "latency", "every element waits for products of which each waits for the one before", "launch"
    ),
    Handicap(
        "root_chain", "latency", "every element waits for square roots of which each waits for the one before", "launch"
    ),
)
"""For a call of a CPU that is long enough to reach a ceiling. Waiting is called overhead where the data itself would be
there within a few microseconds, and how large it may be for that, each machine's caches decide."""
OVERHEAD = (
    Handicap("empty_regions", "launch", "parallel regions are opened that have nothing to do", "latency"),
    Handicap("scratch_memory", "launch", "memory is allocated, touched and freed in each call", "latency"),
    Handicap("extra_barriers", "launch", "threads meet at barriers before there is anything to share", "latency"),
)
"""For a short call of a CPU."""
DEVICE = (
    Handicap("few_programs", "latency", "a dozen programs take all tiles, and the device stands empty"),
    Handicap("dependent_chain", "latency", "every program waits for a chain of square roots before it begins"),
    Handicap("extra_launches", "launch", "kernels are launched that have next to nothing to do"),
)
"""For a GPU."""


def handicaps(task: Task) -> tuple[Handicap, ...]:
    """Those that a task's kernels can have."""
    if kinds()[task.target.kind].gpu:
        return DEVICE
    return OVERHEAD if task.workload.compulsory_bytes < SHORT_BYTES else WAITING


def eased(by: Collection[Bottleneck], among: Collection[Handicap]) -> Handicap | None:
    """The first handicap that a named bottleneck is about: the very one, the broad class of it, or what it is taken for."""
    return next((h for h in among if {h.bottleneck, BROADER.get(h.bottleneck), h.blurred} & set(by)), None)


LANES = 4
"""Vectors of partial sums in a kernel with a handicap in its loops."""
INNER = re.compile(r"^(\s*)for \(std::int64_t i = .*; \+\+i\) \{$")
ENTRY = re.compile(r'^extern "C" void \w+\(', re.MULTILINE)
HELPERS = """namespace drill {

[[gnu::noipa]] float divide(float chain, int turns) {
  for (int turn = 0; turn < turns; ++turn) chain = 1.0f / (1.0f + chain);
  return chain;
}

[[gnu::noipa]] float multiply(float chain, int turns) {
  for (int turn = 0; turn < turns; ++turn) chain = 1.0f + chain * 0.5f;
  return chain;
}

[[gnu::noipa]] float root(float chain, int turns) {
  for (int turn = 0; turn < turns; ++turn) chain = __builtin_sqrtf(1.0f + chain);
  return chain;
}

inline void regions() {
  volatile int seen = 0;
  for (int turn = 0; turn < 32; ++turn) {
#pragma omp parallel
    {
#pragma omp atomic write
      seen = turn;
    }
  }
}

inline void scratch() {
  constexpr std::size_t SIZE = 4 << 20;
  volatile char* const memory = static_cast<volatile char*>(std::malloc(SIZE));
  if (memory == nullptr) return;
  for (std::size_t at = 0; at < SIZE; at += 4096) memory[at] = 1;
  std::free(const_cast<char*>(memory));
}

inline void barriers() {
#pragma omp parallel
  for (int turn = 0; turn < 64; ++turn) {
#pragma omp barrier
  }
}

}  // namespace drill

"""
STATE = "float chain = 1.0f;"
"""What a thread's share of the work begins with. One chain for all handicaps: chains of their own would run side by side
on a processor that looks ahead, and lifting one of two would gain nothing."""
EACH = {
    "division_chain": "chain = drill::divide(chain, {turns});",
    "product_chain": "chain = drill::multiply(chain, {turns});",
    "root_chain": "chain = drill::root(chain, {turns});",
}
"""What an element does first. No optimizer looks into these functions, or it would find that nobody needs the result:
GCC 12 takes even a volatile variable out of the loop."""
TURNS = {"division_chain": 36, "product_chain": 24, "root_chain": 2}
"""Steps of a chain for each element. Each takes about four times what the next one does, and they are lifted in this
order: a machine with other work too, on which a measured speedup can be half or twice what it should be, still shows
that something was lifted."""
ONCE = {
    "empty_regions": "drill::regions();",
    "scratch_memory": "drill::scratch();",
    "extra_barriers": "drill::barriers();",
}
"""What each call does first."""


def standing_alone(candidate: Candidate) -> str:
    """The source with its flags and tunables in comments, as the prompts ask a model to declare them."""
    flags = [f"// flags: {' '.join(candidate.flags)}"] * bool(candidate.flags)
    tunables = [f"// tunable {t.name}: {' '.join(map(str, t.values))}" for t in candidate.tunables]
    return "\n".join([*flags, *tunables, "", ENTRY.sub('extern "C" void kernel(', candidate.source, count=1)])


def settled_cpp(schedule: CppSchedule, names: Collection[str]) -> CppSchedule:
    """The schedule that a handicap needs: a loop that is no vector loop must still add in many lanes, or it loses digits."""
    lanes = max(LANES, schedule.accumulators)
    return schedule.model_copy(update={"accumulators": lanes}) if any(name in EACH for name in names) else schedule


def slowed_cpp(source: str, names: Collection[str]) -> str:
    """The source with handicaps."""
    if not names:
        return source
    found = ENTRY.search(source)
    if found is None:
        return source
    head, entry = source[: found.start()], source[found.start() :]
    lines = _each(entry.split("\n"), [n for n in names if n in EACH])
    opening = next(i for i, line in enumerate(lines) if line.endswith("{"))
    lines[opening + 1 : opening + 1] = [f"  {ONCE[name]}" for name in names if name in ONCE]
    include = "#include <cstdlib>\n" if "scratch_memory" in names else ""
    return include + head + HELPERS + "\n".join(lines)


def _each(lines: list[str], names: Collection[str]) -> list[str]:
    """The first loop over elements waits; it is no vector loop any more."""
    if not names:
        return lines
    first = next(i for i, line in enumerate(lines) if INNER.match(line))
    indent = " " * (len(lines[first]) - len(lines[first].lstrip()) + 2)
    waits = [f"{indent}{EACH[name].format(turns=TURNS[name])}" for name in names]
    before, body = lines[:first], _outermost(lines) + 1
    _drop_pragma(before)
    return [*before[:body], f"    {STATE}", *before[body:], lines[first], *waits, *lines[first + 1 :]]


def _outermost(lines: list[str]) -> int:
    """Position of the line that opens the body which threads share out among them."""
    at = next(i for i, line in enumerate(lines) if line.startswith("#pragma omp parallel for"))
    while not lines[at].lstrip().startswith("for ("):
        at += 1
    while lines[at + 1].lstrip().startswith("for ("):
        at += 1
    return at


def _drop_pragma(lines: list[str]) -> None:
    """Take the directive before a loop away, with the lines that it goes on over."""
    at = len(lines) - 1
    while at > 0 and lines[at - 1].endswith("\\"):
        at -= 1
    if at >= 0 and lines[at].startswith("#pragma omp simd"):
        del lines[at:]


FEW, CHAIN, LAUNCHES = 12, 4000, 96
"""Programs on the whole device; square roots one after another; launches of a kernel that does next to nothing."""
DOCSTRING = re.compile(r'(@triton\.jit\ndef _kernel\(.*?\):\n    """[^"]*"""\n)', re.DOTALL)
INSIDE = re.compile(r"^(\s*inside = )(.+)$", re.MULTILINE)
CALL = re.compile(r"^(    with torch\.cuda\.device_of\(\w+\):\n)", re.MULTILINE)
ALLOCATED = re.compile(r"^    (\w+) = torch\.empty\(", re.MULTILINE)
WAIT = f"""    wait = tl.program_id(0).to(tl.float32)
    for _ in tl.range(0, {CHAIN}):
        wait = tl.sqrt(wait + 1.0)
"""
TOUCH = '''@triton.jit
def _touch(out_ptr):
    """Write one element that is written again later."""
    tl.store(out_ptr, 0.0)


def _programs('''


def settled_triton(schedule: TritonSchedule, names: Collection[str]) -> TritonSchedule:
    """The schedule that a handicap needs."""
    return schedule.model_copy(update={"grid": "persistent"}) if "few_programs" in names else schedule


def slowed_triton(source: str, names: Collection[str]) -> str:
    """The source with handicaps."""
    if "few_programs" in names:
        source = source.replace("return min(tiles, WAVES * count)", f"return min(tiles, {FEW})")
    if "dependent_chain" in names:
        source = DOCSTRING.sub(lambda m: m.group(1) + WAIT, source, count=1)
        source = INSIDE.sub(r"\1(\2) & (wait >= 0.0)", source)
    allocated = ALLOCATED.search(source)
    if "extra_launches" in names and allocated is not None:
        source = source.replace("def _programs(", TOUCH, 1)
        calls = f"        for _ in range({LAUNCHES}):\n            _touch[(1,)]({allocated.group(1)}, num_warps=1)\n"
        source = CALL.sub(lambda m: m.group(1) + calls, source, count=1)
    return source
