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
"""What each element does first. No optimizer looks into these functions, or it would find that nobody needs the result:
GCC 12 takes even a volatile variable out of the loop."""
TURNS = {"division_chain": 9, "product_chain": 9, "root_chain": 1}
"""Steps of a chain for each element, over all loops together. Each costs about three times what the next one does, and they
are lifted in this order: what is lifted must be seen on a machine that has other work too."""
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
    """Every loop over elements waits; it is no vector loop any more. What it waits for goes on from loop to loop."""
    kept: list[str] = []
    count = sum(bool(INNER.match(line)) for line in lines)
    outermost = _outermost(lines)
    for number, line in enumerate(lines):
        found = INNER.match(line) if names else None
        if found is not None:
            _drop_pragma(kept)
            kept.append(line)
            kept += [f"{found.group(1)}  {EACH[name].format(turns=-(-TURNS[name] // count))}" for name in names]
        else:
            kept.append(line)
        if number == outermost:
            kept += [f"    {STATE}"] * bool(names)
    return kept


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
