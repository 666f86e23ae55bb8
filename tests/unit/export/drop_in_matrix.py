"""A drop-in against its reference in every circumstance; run in a process of its own: `drop_in_matrix.py TASK EXPORTED`.

Prints a line of JSON as each circumstance begins and as it ends: whether both gave the same, be it results or an exception
of the same class, and how often the kernel ran. Those in `--known` (JSON) are passed over. `--part eager` leaves out what
needs a compiler of PyTorch's, `--part compilers` has that alone, `--device cuda` puts all on the GPU, and `--no-kernel` is
for a machine where the kernel cannot run: the reference must answer every time.
"""

import argparse
import copy
import importlib.util
import io
import json
import sys
import threading
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils import _pytree as pytree

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.backends.cudnn.allow_tf32 = False  # each algorithm of a convolution rounds differently in it, by more than LOOSE
LOOSE = {torch.float32: 1e-4, torch.float64: 1e-8, torch.float16: 1e-2, torch.bfloat16: 5e-2}


class Subclass(torch.Tensor):
    pass


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def outcome(call):
    """Results as a list of tensors, or the class of what was raised."""
    try:
        found = call()
    except Exception as error:  # noqa: BLE001  whatever the reference raises, the drop-in may raise
        return type(error).__name__
    return list(found) if isinstance(found, tuple | list) else [found]


def equal(ours, wanted):
    if isinstance(ours, str) or isinstance(wanted, str):
        return ours == wanted
    return len(ours) == len(wanted) and all(alike(a, b) for a, b in zip(ours, wanted, strict=True))


def alike(a, b):
    if a.shape != b.shape or a.dtype != b.dtype or a.device != b.device or type(a) is not type(b):
        return False
    if a.device.type == "meta" or "Fake" in type(a).__name__:
        return True
    near = LOOSE.get(a.dtype, 0)
    a, b = a.detach().double(), b.detach().double()
    return bool(
        torch.allclose(a, b, rtol=near, atol=near * max(1.0, float(b.abs().nan_to_num().mean())), equal_nan=True)
    )


class Matrix:
    def __init__(self, task, exported, device, runs, known=()):
        self.task, self.e, self.device, self.runs, self.known = task, exported, device, runs, set(known)
        torch.manual_seed(0)
        self.inputs = [t.to(device) if tensor(t) else t for t in task.get_inputs()]

    def pair(self):
        """Reference and drop-in with the same parameters."""
        given = self.task.get_init_inputs() if hasattr(self.task, "get_init_inputs") else []
        torch.manual_seed(1)
        old = self.e.Model(*given).to(self.device)
        torch.manual_seed(1)
        return old, self.e.ModelNew(*given).to(self.device)

    def same(
        self,
        name,
        call=lambda m, *x: m(*x),
        change=lambda m: m,
        inputs=None,
        kernel=None,
        grad=False,
        also=lambda: True,
    ):
        """One circumstance; `also` is asked afterwards."""
        if name in self.known:
            return
        say(circumstance=name)
        old, new = self.pair()
        inputs = self.inputs if inputs is None else inputs
        with torch.set_grad_enabled(grad):
            torch.manual_seed(7)
            wanted = outcome(lambda: call(change(old), *inputs))
            torch.manual_seed(7)
            before = self.e.ModelNew.stats()["kernel"]
            ours = outcome(lambda: call(change(new), *inputs))
        used = self.e.ModelNew.stats()["kernel"] - before
        shown = [o if isinstance(o, str) else [str(t.flatten()[:3]) for t in o] for o in (ours, wanted)]
        right = equal(ours, wanted) and (not used if not self.runs else kernel is None or (used > 0) == kernel)
        right = right and also()
        say(circumstance=name, right=right, kernel=used, **({} if right else {"ours": shown[0], "wanted": shown[1]}))

    def all(self, part):
        if part != "compilers":
            self.plain()
            self.other_tensors()
            self.modules()
            self.transforms()
        if part != "eager":
            self.compilers()

    def plain(self):
        self.same("no_grad", kernel=True)
        self.same("eval", change=torch.nn.Module.eval, kernel=True)
        self.same("train", change=torch.nn.Module.train)
        self.same("grad_eval", change=torch.nn.Module.eval, grad=True)
        floating = [t.clone().requires_grad_() if floats(t) else t for t in self.inputs]
        self.same("backward", backward, inputs=floating, grad=True, kernel=False)
        self.same("inference", inferred, kernel=True)
        self.same("autocast", autocast, kernel=False)
        self.same("too_many", lambda m, *x: m(*x, 1), kernel=False)
        self.same("none", lambda m, *x: m(None, *x[1:]), kernel=False)

    def other_tensors(self):
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            moved = [t.to(dtype) if floats(t) else t for t in self.inputs]
            self.same(f"{dtype}", change=lambda m, d=dtype: m.to(d), inputs=moved)
        for rows in (1, 3):
            fewer = [t[:rows] if tensor(t) and t.dim() else t for t in self.inputs]
            self.same(f"rows_{rows}", inputs=fewer)
            self.same(f"rows_{rows}_again", inputs=fewer)
        more = [torch.cat([t, t]) if tensor(t) and t.dim() else t for t in self.inputs]
        self.same("more_rows", inputs=more)
        self.same("more_rows_again", inputs=more)
        self.same("no_rows", inputs=[t[:0] if tensor(t) and t.dim() else t for t in self.inputs], kernel=False)
        self.same("one_shorter", inputs=[*self.inputs[:-1], self.inputs[-1][..., :-1]])
        self.same("strided", inputs=[strided(t) if tensor(t) else t for t in self.inputs], kernel=True)
        self.same("meta", change=lambda m: m.to("meta"), inputs=[t.to("meta") for t in self.inputs], kernel=False)
        self.same("elsewhere", change=lambda m: m.cpu(), inputs=[t.cpu() for t in self.inputs])
        # PyTorch answers some of these from memory that nobody wrote to: the same kind of answer is all that can be asked.
        self.same("half_elsewhere", blank, change=lambda m: m.to("meta"))
        self.same("subclass", inputs=[t.as_subclass(Subclass) for t in self.inputs], kernel=False)
        self.same("fake", faked)
        self.same("inside_fake_mode", faked_module)

    def modules(self):
        self.same("deepcopy", change=copy.deepcopy, kernel=True)
        self.same("saved", change=saved, kernel=True)
        self.same("threads", threaded, kernel=True)
        self.same("compiled_elsewhere", change=compiled_elsewhere, kernel=True)
        calls = []
        self.same("own_hook", change=lambda m: hooked(m, calls), kernel=True, also=lambda: len(calls) == 2)
        for name, register in GLOBAL_HOOKS.items():
            heard = []
            hook = register(lambda module, *rest, heard=heard: heard.append(type(module).__name__))
            self.same(name, kernel=False, also=lambda heard=heard: len(heard) % 2 == 0)
            hook.remove()
        old, _ = self.pair()
        # Once in each module; or in neither: MultiheadAttention reads its projection's weights and never calls it.
        for path, _ in list(old.named_modules())[1:]:
            for kind in ("forward", "forward_pre"):
                heard = []
                self.same(
                    f"hook_{kind}_{path}", change=lambda m, p=path, k=kind, h=heard: listened(m, p, k, h), kernel=False,
                    also=lambda h=heard: len(h) in (0, 2),
                )  # fmt: skip
        for path, name, value in numbers(old):
            self.same(f"set_{path}.{name}", change=lambda m, p=path, n=name, v=value: changed(m, p, n, v), kernel=False)
        if untied(old):
            self.same("untied", change=untied, kernel=False)
        self.same("deepcopy_changed", change=lambda m: copy.deepcopy(patched(m)), kernel=False)
        self.same("patched_forward", change=patched)

    def transforms(self):
        wide = [torch.stack([t, t * 0.5]) if floats(t) else torch.stack([t, t]) for t in self.inputs]
        self.same("vmap", lambda m, *x: torch.vmap(m)(*x), inputs=wide)
        self.same("jvp", jvp)
        self.same("functional_call", called_with_its_own, kernel=True)

    def compilers(self):
        self.same("fullgraph", lambda m, *x: torch.compile(m, fullgraph=True)(*x), kernel=True)
        self.same("fullgraph_grad", lambda m, *x: torch.compile(m, fullgraph=True)(*x), grad=True)
        self.same("recompiled", recompiled)
        self.same("export", exported_call)
        self.same("export_strict", lambda m, *x: exported_call(m, *x, strict=True))
        self.same("export_grad", exported_call, grad=True)


def say(**told):
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def tensor(value):
    return isinstance(value, torch.Tensor)


def floats(value):
    return tensor(value) and value.is_floating_point()


def backward(module, *inputs):
    found = module(*inputs)
    total = sum(t.float().square().sum() for t in (found if isinstance(found, tuple | list) else [found]))
    learned = [t for t in (*inputs, *module.parameters()) if t.requires_grad]
    return tuple(torch.autograd.grad(total, learned, allow_unused=False))


def inferred(module, *inputs):
    with torch.inference_mode():
        return module(*inputs)


def autocast(module, *inputs):
    with torch.autocast(inputs[0].device.type, torch.bfloat16):
        return module(*inputs)


def strided(t):
    if not t.dim():
        return t
    wide = torch.empty((*t.shape[:-1], 2 * t.shape[-1]), dtype=t.dtype, device=t.device)
    wide[..., ::2] = t
    return wide[..., ::2]


def faked(module, *inputs):
    """Fake inputs beside a real module."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fake = [mode.from_tensor(t) for t in inputs]
    with mode:
        found = module(*fake)
    return [
        torch.empty(t.shape, dtype=t.dtype, device="meta") for t in (found if isinstance(found, tuple) else [found])
    ]


def faked_module(module, *inputs):
    with FakeTensorMode():
        fake = copy.deepcopy(module)
        found = fake(*(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in inputs))
    return [
        torch.empty(t.shape, dtype=t.dtype, device="meta") for t in (found if isinstance(found, tuple) else [found])
    ]


def saved(module):
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def threaded(module, *inputs):
    results = [None] * 8

    def work(at):
        with torch.no_grad():
            for _ in range(5):
                results[at] = module(*inputs)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return tuple(t for r in results for t in (r if isinstance(r, tuple) else (r,)))


def hooked(module, calls):
    """A hook of the module's own counts its calls and changes every result."""

    def doubled(_module, _given, found):
        calls.append(1)
        return found * 2 if tensor(found) else tuple(t * 2 for t in found)

    module.register_forward_hook(doubled)
    return module


def listened(module, path, kind, heard):
    getattr(module.get_submodule(path), f"register_{kind}_hook")(lambda *a: heard.append(1))
    return module


GLOBAL_HOOKS = {"global_hook": register_module_forward_hook, "global_pre_hook": register_module_forward_pre_hook}


def numbers(module):
    """Every number that a part of the module keeps as an attribute, with another in its place."""
    base = vars(torch.nn.Module())
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if name not in base and isinstance(value, int | float) and not isinstance(value, bool):
                yield path, name, value + 0.5 if isinstance(value, float) else value


def changed(module, path, name, value):
    part = module.get_submodule(path)
    setattr(part, name, value if isinstance(value, float) else value + 0)
    if not isinstance(value, float):
        part.added_by_somebody = True
    return module


def blank(module, *inputs):
    """What it answers, without its values."""
    return pytree.tree_map(lambda t: torch.zeros_like(t) if tensor(t) else t, module(*inputs))


def untied(module):
    """Another tensor at every place whose tensor is somewhere else too; None where there is none."""
    parts = [(part, name) for part in module.modules() for name, held in part._parameters.items() if held is not None]
    apart = [(part, name) for at, (part, name) in enumerate(parts) if _held(parts[:at], getattr(part, name))]
    for part, name in apart:
        setattr(part, name, torch.nn.Parameter(getattr(part, name).detach() * 2))
    return module if apart else None


def _held(parts, tensor):
    return any(getattr(part, name) is tensor for part, name in parts)


def patched(module):
    """The last submodule, or the module itself, gets another forward of its own."""
    *_, part = module.modules()
    before = type(part).forward
    part.forward = lambda *x: before(part, *x) * 2
    return module


def called_with_its_own(module, *inputs):
    """Copies of the module's tensors in their place; what is tied stays so."""
    tensors = {name: tensor.detach().clone() for name, tensor in module.named_parameters()}
    return torch.func.functional_call(module, tensors, inputs)


def jvp(module, *inputs):
    if not all(floats(t) for t in inputs):
        return module(*inputs)
    return torch.func.jvp(module, tuple(inputs), tuple(torch.ones_like(t) for t in inputs))[1]


def compiled_elsewhere(module):
    """Wrapped by torch.compile, which leaves marks on it, and called without."""
    for part in module.modules():
        torch.compile(part, backend="eager")
    return module


def recompiled(module, *inputs):
    """A changed attribute after the first call of what was compiled."""
    call = torch.compile(module, fullgraph=True)
    call(*inputs)
    for path, name, value in list(numbers(module))[:1]:
        changed(module, path, name, value)
    return call(*inputs)


def exported_call(module, *inputs, strict=False):
    return torch.export.export(module, tuple(inputs), strict=strict).module()(*inputs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("exported")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", choices=("eager", "compilers"))
    parser.add_argument("--no-kernel", action="store_true")
    parser.add_argument("--known", type=json.loads, default=[])
    asked = parser.parse_args()
    modules = loaded("task_of_drop_in", asked.task), loaded("exported", asked.exported)
    Matrix(*modules, asked.device, runs=not asked.no_kernel, known=asked.known).all(asked.part)
