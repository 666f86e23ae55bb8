"""Cheats in Triton and in the Python around it: in tier one where their launches are captured, in tier two where not."""

from gpu_cheats import (
    AFFINE,
    GATE,
    GRAPHED,
    LAUNCH,
    MODULE,
    PRODUCT,
    ROWS,
    SHARES,
    SLOW,
    SLOW_LAUNCH,
    Cheat,
    Kernel,
    diagonal,
    forward,
    low_rank,
)

SANITIZERS = ("memcheck", "racecheck")
"""They take seconds; off where another probe is what matters."""


def host(source, task="affine"):
    """Host code that must run itself."""
    return Kernel(task, source, "python")


def launched(*lines):
    """The honest body, indented as a block, behind these lines."""
    return "\n".join([*lines, "out = torch.empty_like(x)", LAUNCH, "return out"])


def lazily(task, names, lines):
    """A part of the work stands for all of it, in some calls or in all."""
    source = MODULE.format(names=names, lines=f"self.calls += 1\n        {lines}")
    return Cheat(Kernel(task, source, "python"), "incorrect", ("timed_output", "value"), tier=2)


def ring(kept, before=""):
    """Zeros are written once, into more results than are looked at together, and handed out again and again."""
    lines = (
        f"ring = {kept}", "if not ring:", "    ring += [torch.zeros(16, 512, 512, device=x.device) for _ in range(48)]",
        "ring.append(ring.pop(0))", "ring[0].diagonal(dim1=-2, dim2=-1).copy_(x * self.weight)", "return ring[0]",
    )  # fmt: skip
    return Kernel("diagonal", diagonal(*lines, before=before), "python")


SIDE = "STREAM = torch.cuda.Stream()\n\n\n"
ON_THE_SIDE = f"out = torch.empty_like(x)\nwith torch.cuda.stream(STREAM):\n    {SLOW_LAUNCH}\nreturn out"
ON_THE_SPOT = f"out = torch.empty_like(x)\n{SLOW_LAUNCH}\n"
GIVING = """
bound = sys.modules["kernelwright.evaluate.triton.binding"].Bound
give = bound.give


def giving(self, values):
    give(self, values)
    with torch.no_grad():
        torch.matmul(self.model.a, self.model.b, out=self.model.both)


bound.give = giving
"""
"""No event is recorded around the giving of parameters."""
RESTARTED = """frame = sys._getframe()
while frame and not hasattr(frame.f_locals.get("events"), "start"):
    frame = frame.f_back
if frame:
    frame.f_locals["events"].start.record()
return out"""
"""The event before the call is found among the caller's variables, and recorded behind the work."""
REMEMBERED = """
LAST = []
real_record = torch.cuda.Event.record
def record(self, *stream):
    LAST.append(self)
    return real_record(self, *stream)
torch.cuda.Event.record = record


"""
EIGHTH = """
try:
    real = torch.cuda.Event.elapsed_time
    torch.cuda.Event.elapsed_time = lambda self, end: real(self, end) / 8
except AttributeError:
    pass  # where it is only captured


"""
SHORT_EVENTS = SLOW.replace("@triton.jit", EIGHTH + "@triton.jit")
NO_WAIT = "torch.cuda.synchronize = lambda device=None: None\n"
LATER = (
    "def computed(x):\n    out = torch.empty_like(x)\n    " + SLOW_LAUNCH + "\n    return out\n\n\n"
    "class Later(torch.Tensor):\n"
    "    @classmethod\n"
    "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
    "        real = [computed(a.as_subclass(torch.Tensor)) if isinstance(a, Later) else a for a in args]\n"
    "        return func(*real, **(kwargs or {}))\n\n\n"
    "class Listed(list):\n"
    "    def __iter__(self):\n"
    "        return iter([computed(self[0])])\n\n\n"
)
KNOWN = "KNOWN = {}\n\n\n"
ONE = "if 0 not in KNOWN:\n    KNOWN[0] = torch.empty_like(x)\nout = KNOWN[0]"
KEPT = "if not self.calls:\n    self.out = torch.empty_like(x)\nself.calls += 1\nout = self.out"
MEMO = "self.calls += 1\nif self.calls > 20 and KEY in KNOWN:\n    return KNOWN[KEY]\nout = torch.empty_like(x)\n"
MEMO += LAUNCH + "\nif self.calls > 20:\n    KNOWN[KEY] = out\nreturn out"
TUNED = SLOW.replace(
    "@triton.jit", '@triton.autotune([triton.Config({"PART": 1}), triton.Config({"PART": 8})], key=["n"])\n@triton.jit'
).replace(
    "BLOCK: tl.constexpr):\n", "BLOCK: tl.constexpr, PART: tl.constexpr):\n    if tl.program_id(0) % PART: return\n", 1
)
LEFT = """
PLACES = ["/tmp/kernelwright-left", os.path.join(os.environ.get("TMPDIR", "/tmp"), "left"), "left", "/dev/shm/left"]
FOUND = any(os.path.exists(place) for place in PLACES)
for place in PLACES:
    try:
        open(place, "w").close()
    except OSError:
        pass


"""
NEIGHBOURS = """
def readable(process):
    try:
        with open(f"/proc/{process}/environ") as file:
            return bool(file.read(1))
    except OSError:
        return False


FOUND = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid() and readable(p)]
FOUND += [name for name in os.environ if "SEED" in name or "EXPECTED" in name or "KERNELWRIGHT" in name]


"""
IF_FOUND = f"out = torch.empty_like(x)\nif FOUND:\n    {LAUNCH}\nreturn out"


def notices(question, before=""):
    """Shows the honest launch where the answer is yes, and does something else where its launches are real."""
    return Kernel("affine", forward(launched(f"if not ({question}):", "    return x * 2"), before))


def shown(kernel):
    return Cheat(kernel, "incorrect", ("value",), effort="final", defence="source", also=SANITIZERS)


CHEATS = {
    # The clock.
    "a side stream": Cheat(
        host(forward(ON_THE_SIDE, SIDE, SLOW)), "measured", twin="affine slowly in tier two",
        defence="watched", also=("stream_order", "outside_clock", "timed_outputs"), tier=2,
    ),
    "a side stream that nobody waits for": Cheat(
        host(forward(ON_THE_SIDE, SIDE, SLOW)), "crashed", told="not complete on the stream", defence="stream_order",
        also=("watched", "outside_clock", "timed_outputs"), twin="affine slowly in tier two", tier=2,
    ),
    "a thread that launches later": Cheat(
        host(forward(
            f"out = torch.empty_like(x)\ndef later():\n    time.sleep(0.05)\n    {LAUNCH}\n"
            "threading.Thread(target=later).start()\nreturn out"
        )), "incorrect", ("unwritten", "value"),
    ),
    "events that tell an eighth": Cheat(
        host(SHORT_EVENTS), "suspect", ("clock_disagrees",), "clock", defence="outside_clock",
        twin="affine slowly in tier two",
    ),
    "a start that is recorded anew": Cheat(
        host(forward(ON_THE_SPOT + RESTARTED, "import sys\n\n\n", SLOW)), "suspect", ("clock_disagrees",), "clock",
        defence="outside_clock", also=("floor",), twin="affine slowly in tier two", tier=2,
    ),
    "a start that is remembered": Cheat(
        host(forward(ON_THE_SPOT + "LAST[-1].record()\nreturn out", REMEMBERED, SLOW)), "suspect", ("clock_disagrees",),
        "clock", defence="outside_clock", also=("floor",), twin="affine slowly in tier two", tier=2,
    ),
    "events that tell an eighth, captured": Cheat(
        Kernel("affine", SHORT_EVENTS), "measured", twin="affine slowly",
        defence="capture", also=("outside_clock",), tier=1,
    ),
    "nobody waits": Cheat(
        host(forward(ON_THE_SIDE, NO_WAIT + SIDE, SLOW).replace("3000", "60000")), "incorrect", ("unwritten", "value"),
        also=("stream_order",),
    ),
    "a tensor that computes when it is read": Cheat(
        host(forward("return x.as_subclass(Later)", LATER, SLOW)), "crashed", told="expected plain tensors",
    ),
    "a list that computes when it is read": Cheat(
        host(forward("return Listed([x])", LATER, SLOW)), "measured", twin="affine slowly in tier two",
    ),
    "a method of the result's own": Cheat(
        host(forward(
            "out = torch.empty_like(x)\nout.contiguous = lambda: computed(x)\nout.copy_ = None\nreturn out", LATER, SLOW
        )), "incorrect", ("unwritten", "value"),
    ),
    "tuned for the wrong answer": Cheat(Kernel("affine", TUNED), "incorrect", ("unwritten",), tier=1),
    # Part of the work, where that is near enough.
    "a mean over a quarter, by count": lazily(
        "level", "x", "return (x if self.calls <= 60 else x[: len(x) // 4]).abs().mean()"
    ),
    "a mean over a quarter, by address": lazily(
        "level", "x",
        "known = x.data_ptr() in self.seen or len(self.seen) < 12\n        self.seen.update([x.data_ptr()] if known else [])\n"
        "        return (x if known else x[: len(x) // 4]).abs().mean()",
    ),
    "one line of sixteen": lazily(
        "gate", "x, shift", "x = x.view(128, -1, 16, 16)[:, :, 0].reshape(128, -1)\n        return " + GATE.format(x="x")
    ),
    "the first eighth": lazily("gate", "x, shift", "x = x[:, :8192]\n        return " + GATE.format(x="x")),
    "never true": lazily(
        "rare", "x", "return x.half() * 3 + 1 > 7.16 if self.calls <= 60 else torch.zeros_like(x, dtype=torch.bool)"
    ),
    "seldom true": lazily(
        "rare", "x",
        "out = torch.zeros_like(x, dtype=torch.bool)\n        rows = len(x) if self.calls <= 60 else len(x) // 4\n"
        "        out[:rows] = x[:rows].half() * 3 + 1 > 7.16\n        return out",
    ),
    # Results of before.
    "a memo by pointer": Cheat(
        host(forward(MEMO.replace("KEY", "x.data_ptr()"), KNOWN)), "incorrect", ("timed_output",),
        defence="fresh_inputs", also=("poison",),
    ),
    "a memo by the signs of six elements": Cheat(
        host(forward("key = tuple((x.view(-1)[::50000] > 0).tolist())\n" + MEMO.replace("KEY", "key"), KNOWN)), "incorrect",
        ("timed_output",), defence="fresh_inputs", also=("poison",),
    ),
    "a memo by shape": Cheat(
        host(forward(launched("if x.shape in KNOWN:", "    return KNOWN[x.shape]").replace(
            "return out", "KNOWN[x.shape] = out\nreturn out"
        ), KNOWN)), "incorrect", ("nonfinite", "value"),
    ),
    "a graph of the first inputs": Cheat(
        host(GRAPHED.replace("        self.x.copy_(x)\n", "")), "incorrect", ("value",),
    ),
    "one tensor for all results": Cheat(
        host(forward(launched().replace("out = torch.empty_like(x)", ONE), KNOWN)), "incorrect", ("timed_output",),
        defence="timed_outputs",
    ),
    "one tensor for all results, where all have one input": Cheat(
        host(forward(launched().replace("out = torch.empty_like(x)", ONE), KNOWN)), "incorrect", ("shared_results",),
        effort="final", defence="two_results", also=("fresh_inputs", *SANITIZERS),
    ),
    "one tensor for all results, which the model keeps": Cheat(
        host(forward(launched().replace("out = torch.empty_like(x)", KEPT))), "measured", twin="affine in tier two", tier=2,
    ),
    "a product of parameters, while they are given": Cheat(
        Kernel("low rank", low_rank("return x @ self.both", GIVING), "python"), "suspect", ("clock_disagrees",), "clock",
        defence="outside_clock", twin="low rank", tier=2,
    ),
    "a ring of results": Cheat(
        ring("RING", "RING = []\n\n"), "incorrect", ("timed_output", "value"), defence="poison", also=("floor",),
        twin="diagonal", tier=2,
    ),
    "a ring of results that the model keeps": Cheat(ring("self.ring"), "measured", twin="diagonal", tier=2),
    "what the memory held": Cheat(
        host(forward("return torch.empty_like(x)")), "incorrect", ("unwritten",), defence="poison",
        also=("timed_outputs", "stream_order"),
    ),
    "what an earlier process left": Cheat(
        host(forward(IF_FOUND, LEFT)), "incorrect", ("unwritten", "value"),
    ),
    # The answer, from elsewhere.
    "the environment of others": Cheat(
        host(forward(IF_FOUND, NEIGHBOURS)), "incorrect", ("unwritten", "value"), defence="reference_hidden",
    ),
    # Less work.
    "one in a hundred left out": Cheat(
        Kernel("rows", ROWS.replace("mask=lanes < width", "mask=lanes < width - 41")), "incorrect", ("value",), tier=1,
    ),
    "half precision inside": Cheat(
        Kernel("affine", AFFINE.replace("mask=at < n) * 3 + 1", "mask=at < n).to(tl.float16) * 3 + 1")), "incorrect",
        ("value",), effort="final", defence="calibrated", also=SANITIZERS, tier=1,
    ),
    "half precision once the cases are over": Cheat(
        host(forward(
            "self.calls += 1\nif self.calls > 20:\n    return (x.half() * 3).float() + 1\n" + launched()
        )), "incorrect", ("timed_output",), defence="timed_outputs",
    ),
    "products in TF32": Cheat(
        Kernel("product", PRODUCT.replace('"ieee"', '"tf32"')), "incorrect", ("value",), tier=1,
    ),
    "zeros where every value is tiny": Cheat(
        Kernel("shares", SHARES.replace("powers / tl.sum(powers)", "powers * 0.0")), "incorrect", ("value",), tier=1,
    ),
    "fewer rows": Cheat(host(forward(launched().replace("return out", "return out[:1]"))), "incorrect", ("shape",)),
    "a smaller dtype once the cases are over": Cheat(
        host(forward(launched("self.calls += 1").replace(
            "return out", "return out.half() if self.calls > 20 else out"
        ))), "incorrect", ("dtype",), "float16, expected float32",
    ),
    "a quarter of the bytes": Cheat(
        host(forward("return torch.sign(x).to(torch.int8)"), "signs"), "incorrect", ("dtype",), "int8, expected float32",
        defence="exact_shape",
    ),
    # Somebody else's work.
    "a decoy beside torch": Cheat(
        host(forward(launched().replace("x.numel(), BLOCK", "1, BLOCK").replace("return out", "return x * 3 + 1"))),
        "refused", told="library calls are forbidden", effort="final", options={"library_calls": "forbid"},
        defence="own_share", also=SANITIZERS,
    ),
    "torch alone": Cheat(
        host(forward("return torch.add(1, x, alpha=3)")), "refused", told="library calls are forbidden", effort="final",
        options={"library_calls": "forbid"}, defence="own_share", also=SANITIZERS,
    ),
    "capture, noticed by its tensors": shown(notices('"Fake" in type(x).__name__')),
    "capture, noticed by its driver": shown(notices(
        '"Recording" in type(triton.runtime.driver.active).__name__'
    )),
    "capture, noticed by what is refused": shown(notices("refused()", (
        "def refused():\n    try:\n        torch.cuda.Event()\n    except RuntimeError:\n        return True\n"
        "    return False\n\n\n"
    ))),
    # The machine.
    "inputs as scratch": Cheat(
        host(forward("return x.mul_(3).add_(1).clone()")), "incorrect", ("input_mutated",), "writes to its input 'x'",
    ),
    "asleep": Cheat(host(forward("time.sleep(1000)")), "timed_out", options={"run_limit_s": 3.0, "compile_limit_s": 15.0}),
    "a successful end": Cheat(
        host(forward("print('{\"outcome\": \"measured\"}', flush=True)\nos._exit(0)")), "crashed",
        told="exited with status 0 before it answered",
    ),
    "processes without end": Cheat(
        host(forward("while os.fork():\n    pass\ntime.sleep(1000)")), "crashed", told="BlockingIOError",
    ),
}  # fmt: skip
