"""Sums, scans and copies by several programs, right and wrong, as text."""

from triton_candidates import HEAD


def kernel(body, host, parameters="x, out, work, n, B: tl.constexpr"):
    """A module whose kernel has this body, and whose forward has this end."""
    lines = [*HEAD.splitlines(), "", "@triton.jit", f"def kernel({parameters}):"]
    lines += ["    p = tl.program_id(0)", "    at = p * B + tl.arange(0, B)"]
    lines += [f"    {line}" for line in body.strip("\n").splitlines()]
    lines += ["", "class ModelNew(torch.nn.Module):", "    def forward(self, x):"]
    return "\n".join([*lines, *(f"        {line}" for line in host.strip("\n").splitlines())]) + "\n"


SUM = """
n, programs = x.numel(), triton.cdiv(x.numel(), 64)
work, out = torch.zeros(64), torch.empty(1)
kernel[(programs,)](x, out, work, n, B=64)
return out
"""
PART = "part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)\n"
ARRIVES = "tl.atomic_add(work, part)\narrived = tl.atomic_add(work + 1, 1.0)\n"
LAST = "if arrived == tl.num_programs(0) - 1:\n    "
COPY = """
out = torch.empty_like(x)
kernel[(triton.cdiv(x.numel(), 64),)](x, out, torch.zeros(64, dtype=torch.int32), x.numel(), B=64)
return out
"""
TURN = """
while tl.atomic_add(work, 0) != {turn}:
    pass
"""
BARRIER = """
tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)
for phase in range(3):
    tl.atomic_add(work, 1)
    while tl.atomic_add(work, 0) < (2 * phase + 1) * tl.num_programs(0):
        pass
    beside = tl.load(out + (at + B) % n, mask=at < n, other=0.0)
    tl.atomic_add(work, 1)
    while tl.atomic_add(work, 0) < (2 * phase + 2) * tl.num_programs(0):
        pass
    tl.store(out + at, beside, mask=at < n)
"""
SPLIT = """
m = tl.arange(0, 16)
part = tl.sum(tl.load(x + at, mask=at < n, other=0.0).reshape(16, B // 16), axis=1)
tl.atomic_add(work + m, part)
"""
SPLIT_HOST = SUM.replace("torch.empty(1)", "torch.empty(16)")

RIGHT = {
    "last to arrive": (PART + ARRIVES + LAST + "tl.store(out, tl.atomic_add(work, 0.0))", SUM),
    "last to arrive loads": (PART + ARRIVES + LAST + "tl.store(out, tl.load(work))", SUM),
    "partial sums, last to arrive": (
        PART + "tl.store(work + 2 + p, part)\narrived = tl.atomic_add(work, 1.0)\n" + LAST
        + "k = tl.arange(0, 32)\n"
        + "    tl.store(out, tl.sum(tl.load(work + 2 + k, mask=k < tl.num_programs(0), other=0.0), axis=0))",
        SUM,
    ),
    "split with a counter": (
        SPLIT + "if tl.atomic_add(work + 16, 1.0) == tl.num_programs(0) - 1:\n"
        "    tl.store(out + m, tl.load(work + m) * 2.0)",
        SPLIT_HOST,
    ),
    "spin lock": (
        PART + "while tl.atomic_cas(work + 1, 0.0, 1.0) == 1.0:\n    pass\n"
        "total = tl.load(work) + part\ntl.store(work, total)\ntl.debug_barrier()\ntl.atomic_xchg(work + 1, 0.0)\n"
        "if tl.atomic_add(work + 2, 1.0) == tl.num_programs(0) - 1:\n    tl.store(out, tl.load(work))",
        SUM,
    ),
    "in turn, the first first": (
        PART + TURN.format(turn="p") + "before = tl.load(work + 1, mask=p > 0, other=0.0)\n"
        "tl.store(work + 1, before + part)\ntl.atomic_add(work, 1.0)\n"
        "if p == tl.num_programs(0) - 1:\n    tl.store(out, before + part)",
        SUM,
    ),
    "in turn, the last first": (
        PART + TURN.format(turn="tl.num_programs(0) - 1 - p")
        + "before = tl.load(work + 1)\ntl.store(work + 1, before + part)\ntl.atomic_add(work, 1.0)\n"
        "if p == 0:\n    tl.store(out, before + part)",
        SUM,
    ),
    "fix-up by the next": (
        PART + "if p > 0:\n    tl.store(work + p, part)\n    tl.atomic_xchg(work + 32 + p, 1.0, sem='release')\n"
        "else:\n    for q in range(1, tl.num_programs(0)):\n"
        "        while tl.atomic_cas(work + 32 + q, 1.0, 1.0, sem='acquire') != 1.0:\n            pass\n"
        "        part += tl.load(work + q)\n    tl.store(out, part)",
        SUM,
    ),
    "the same everywhere": (
        "for base in range(0, n, B):\n    k = base + tl.arange(0, B)\n"
        "    tl.store(out + k, tl.load(x + k, mask=k < n), mask=k < n)",
        COPY,
    ),
    "the same everywhere, read again": (
        "for base in range(0, n, B):\n    k = base + tl.arange(0, B)\n    inside = k < n\n"
        "    tl.store(out + k, tl.load(x + k, mask=inside), mask=inside)\n"
        "    again = tl.load(out + k, mask=inside)\n    tl.store(out + k, again, mask=inside)",
        COPY,
    ),
    "tickets": (
        "mine = tl.atomic_add(work, 1)\nk = mine * B + tl.arange(0, B)\n"
        "tl.store(out + k, tl.load(x + k, mask=k < n), mask=k < n)",
        COPY,
    ),
    "a barrier within a program": (
        "tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\ntl.debug_barrier()\n"
        "k = p * B + (B - 1) - tl.arange(0, B)\nagain = tl.load(out + k, mask=k < n, other=0.0)\ntl.debug_barrier()\n"
        "tl.store(out + k, again, mask=k < n)",
        COPY,
    ),
    "a sum between": (
        "tl.store(work + p * 3 + 2, 1.0)\n" + PART + "tl.atomic_add(work, part * tl.load(work + p * 3 + 2))\n"
        "if tl.atomic_add(work + 1, 1.0) == tl.num_programs(0) - 1:\n    tl.store(out, tl.load(work))",
        SUM,
    ),
    "lanes that store the same": (
        "k = tl.minimum(at, n - 1)\ntl.store(out + k, tl.load(x + k))",
        COPY,
    ),
}  # fmt: skip
"""A body and a host each; the results are sums (twice by sixteen rows for the split) and copies."""

WRONG = {
    "last program reads": (
        PART + "tl.atomic_add(work, part)\nif p == tl.num_programs(0) - 1:\n    tl.store(out, tl.load(work))",
        SUM, ("work",),
    ),
    "every program stores what it sees": (
        PART + "tl.atomic_add(work, part)\ntl.store(out, tl.load(work))", SUM, ("work",),
    ),
    "every program stores what it gets": (
        PART + "tl.atomic_add(work, part)\ntl.store(out, tl.atomic_add(work, 0.0))", SUM, ("out", "another value"),
    ),
    "last split has an epilogue": (
        SPLIT + "if p == tl.num_programs(0) - 1:\n    tl.store(out + m, tl.load(work + m) * 2.0)", SPLIT_HOST, ("work",),
    ),
    "first program clears": (
        PART + "if p == 0:\n    tl.store(out, 0.0)\ntl.atomic_add(out, part)", SUM, ("out", "atomic"),
    ),
    "not atomic": (PART + "tl.store(work, tl.load(work) + part)\ntl.store(out, tl.load(work))", SUM, ("work",)),
    "a neighbour's tile": (
        "tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n"
        "tl.store(out + at, tl.load(out + (at + B) % n, mask=at < n), mask=at < n)",
        COPY, ("out", "element"),
    ),
    "a counter that orders nothing": (
        PART + "tl.store(work + 2 + p, part)\narrived = tl.atomic_add(work, 1.0, sem='relaxed')\n" + LAST
        + "k = tl.arange(0, 32)\n    tl.store(out, tl.sum(tl.load(work + 2 + k), axis=0))",
        SUM, ("work",),
    ),
    "a counter of its own threads": (
        PART + "tl.atomic_add(work, part, scope='cta')\n"
        "if tl.atomic_add(work + 1, 1.0) == tl.num_programs(0) - 1:\n    tl.store(out, tl.load(work))",
        SUM, ("work",),
    ),
    "a lock that is stored open": (
        PART + "while tl.atomic_cas(work + 1, 0.0, 1.0) == 1.0:\n    pass\n"
        "tl.store(work, tl.load(work) + part)\ntl.store(work + 1, 0.0)\ntl.store(out, 0.0)",
        SUM, ("element 1", "work"),
    ),
    "counts arrivals too early": (
        PART + "arrived = tl.atomic_add(work, 1.0)\ntl.store(work + 2 + p, part)\n" + LAST
        + "k = tl.arange(0, 32)\n    tl.store(out, tl.sum(tl.load(work + 2 + k), axis=0))",
        SUM, ("work",),
    ),
    "different values": ("tl.store(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))", SUM, ("out",)),
    "lanes of one store": ("tl.store(out + at // 2, tl.load(x + at, mask=at < n), mask=at < n)", COPY, ("two lanes",)),
    "a program's own lanes, turned": (
        "tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n"
        "tl.store(out + at, tl.load(out + p * B + (B - 1) - tl.arange(0, B)))",
        COPY, ("own threads", "out", "barrier"),
    ),
    "a program's own rows, read as columns": (
        "i, j = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]\n"
        "tl.store(out + p * B + 8 * i + j, tl.load(x + p * B + 8 * i + j))\n"
        "tl.store(out + p * B + 8 * i + j, tl.load(out + p * B + 8 * j + i))",
        COPY, ("own threads", "out"),
    ),
    "a tile read as rows": (
        "tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n"
        "for r in range(8):\n    k = p * B + r * 8 + tl.arange(0, 8)\n    tl.store(out + k, tl.load(out + k) * 1.0)",
        COPY, ("own threads", "out"),
    ),
    "a barrier too few": (
        BARRIER.replace("    tl.atomic_add(work, 1)\n    while", "    while", 1).replace("(2 * phase + 1)", "phase"),
        COPY, ("out",),
    ),
}  # fmt: skip
"""A body, a host, and words of the refusal."""
