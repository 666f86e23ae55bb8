"""C++ kernels of the author as a model would hand them in, and the same with handicaps.

Decides how flags and tunables stand in the file, and where a handicap's lines go. None changes a result.
"""

import re
from collections.abc import Collection

from kernelwright.propose.author.schedule.cpp import CppSchedule
from kernelwright.records.candidate import Candidate

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


def settled(schedule: CppSchedule, names: Collection[str]) -> CppSchedule:
    """The schedule that a handicap needs: a loop that is no vector loop must still add in many lanes, or it loses digits."""
    lanes = max(LANES, schedule.accumulators)
    return schedule.model_copy(update={"accumulators": lanes}) if any(name in EACH for name in names) else schedule


def slowed(source: str, names: Collection[str]) -> str:
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
