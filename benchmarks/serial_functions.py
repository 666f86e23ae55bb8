"""Serial functions that nobody here has seen: does a rewriting make a right kernel of each, however it is spelled?

    python benchmarks/serial_functions.py [FOLDER] [--kind cpu|cuda] [--depth read|port|steps] [--only WORD]
                                          [--out FILE.json]

Every file of the folder is a serial task. On `cpu` each port and each technique after it is built with OpenMP and run beside
the function as the system's compiler builds it, on the same drawn inputs; on `cuda` it is compiled for sm_90, which says
nothing of its results. `--depth read` compiles nothing and says whether a loop is shared out, `port` ends at the first kernel.
What FILE.json has already is not judged again. Files of one function in several spellings are NAME.a.c, NAME.b.c, NAME.c.c.
"""

import argparse
import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

import islpy
import numpy as np
from provenance import commit_and_date

from kernelwright.errors import TaskError
from kernelwright.nests.rewritings import hindrance, rewritten
from kernelwright.records.expression import worth
from kernelwright.records.task import SerialArgument, SerialSpec
from kernelwright.tasks.kernel_file import parse_text
from kernelwright.tasks.table import read_task

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "tests" / "serial_functions"
TOLERANCE = 2e-3
THREADS = 4
"""Of a kernel on the host, whatever it has: so many that passes which race show it."""
LIMIT_S = 60
WAITS = "while (*(volatile unsigned*)gate < goal) {"
"""Where a block waits for the others, which on the host need its core meanwhile."""


def main() -> None:
    """Judge what the file does not have yet, print a line each, and write the figures after each."""
    options = arguments()
    files = sorted(f for f in options.folder.iterdir() if f.suffix in (".c", ".cpp") and options.only in f.name)
    found = json.loads(options.out.read_text())["found"] if options.out and options.out.exists() else {}
    for file in files:
        if file.name in found:
            continue
        found[file.name] = judged(file, options.kind, options.depth)
        say(f"{file.name:32} {found[file.name]}")
        if options.out:
            options.out.write_text(json.dumps({**summed(found, options), "found": found}, indent=1) + "\n")
    say(json.dumps(summed(found, options)["sum"]))
    say(f"wrong steps: { {f: v for one in found.values() for f, v in one['steps'].items() if v != 'right'} }")


def summed(found: dict[str, dict], options: argparse.Namespace) -> dict:
    """The figures over all files, and where they come from."""
    ends = Counter(ending(said["port"]) for said in found.values())
    by_name = dict[str, dict[str, str]]()
    for file, said in found.items():
        name, spelling, *_ = file.split(".")
        by_name.setdefault(name, {})[spelling] = ending(said["port"])
    alike = [name for name, ends_of in by_name.items() if len(set(ends_of.values())) == 1]
    whole = [name for name in alike if set(by_name[name].values()) <= {"right", "shared out"}]
    counts = {"files": len(found), **ends, "functions": len(by_name), "right in every spelling": len(whole)}
    counts |= {"all spellings end the same": len(alike), "steps": sum(len(said["steps"]) for said in found.values())}
    apart = {name: ends_of for name, ends_of in by_name.items() if name not in whole}
    origin = {"versions": versions(), **commit_and_date()}
    return {"kind": options.kind, "depth": options.depth, **origin, "sum": counts, "not right in every spelling": apart}


def versions() -> dict[str, str]:
    """Of what reads and of what compiles."""
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {"gcc": compiler, "islpy": islpy.version.VERSION_TEXT, "python": platform.python_version()}


def ending(port: str) -> str:
    """Of a port, the kind of its end."""
    return port.partition(":")[0]


def say(line: str) -> None:
    """Print it at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--kind", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--depth", choices=("read", "port", "steps"), default="steps")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def judged(file: Path, kind: str, depth: str = "steps") -> dict:
    """What became of the port, and of each technique after it; on what loops, or why on none."""
    started = time.perf_counter()
    try:
        task = read_task(file)
    except TaskError as error:
        return {"port": f"not read: {error}", "steps": {}}
    assert task.spec is not None
    why = hindrance(task.serial, task.spec, kind)
    if why:
        return {"port": f"no way: {why}", "steps": {}, "seconds": round(time.perf_counter() - started, 1)}
    if depth == "read":
        return {"port": "shared out", "steps": {}, "seconds": round(time.perf_counter() - started, 1)}
    ports = [
        r for r in rewritten(task.serial, task.spec, kind, task.serial) if r.technique != "function-with-constants"
    ]
    judge = Judge(task.serial, task.spec, kind)
    port = judge(ports[0].code)
    further = rewritten(task.serial, task.spec, kind, ports[0].code) if port == "right" and depth == "steps" else ()
    steps = {one.technique: judge(one.code) for one in further}
    return {"port": port, "steps": steps, "seconds": round(time.perf_counter() - started, 1)}


class Judge:
    """Builds a kernel and compares what it computes with what the function computes."""

    def __init__(self, code: str, spec: SerialSpec, kind: str) -> None:
        self.spec, self.kind, self.folder = spec, kind, Path(tempfile.mkdtemp())
        self.inputs = [drawn(a, spec, np.random.default_rng(i)) for i, a in enumerate(spec.inputs)]
        self.function = self.built(code, "serial", spec.dialect)

    def __call__(self, code: str) -> str:
        """`right`, or what is not."""
        if self.kind == "cuda":
            return self.compiled(code)
        kernel = self.built(code, "kernel", "cpp", "-fopenmp")
        if kernel.startswith("does not"):
            return kernel
        return self.apart(kernel)

    def compiled(self, code: str) -> str:
        """Whether it compiles for sm_90; and what threads of the host make of it, one after the other."""
        parse_text(code, "cuda", "cuda")
        file = self.folder / "kernel.cu"
        file.write_text(code)
        argv = ["nvcc", "-arch=sm_90", "-cubin", "-o", "/dev/null", file]
        made = subprocess.run(argv, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return f"does not compile: {made.stderr[:600]}"
        kernel = self.built(on_host(code, self.spec), "kernel", "cpp", "-pthread")
        return kernel if kernel.startswith("does not") else self.apart(kernel)

    def built(self, code: str, name: str, dialect: str, *flags: str) -> str:
        """The library's file, or what the compiler said."""
        source, library = self.folder / f"{name}.{dialect}", self.folder / f"{name}.so"
        if name == "serial" and dialect == "cpp":
            code = code.replace(f"void {self.spec.function}(", f'extern "C" void {self.spec.function}(')
        source.write_text(code)
        compiler = ["gcc", "-std=c17"] if dialect == "c" else ["g++", "-std=c++17"]
        made = subprocess.run(
            [
                *compiler,
                "-O2",
                "-w",
                "-shared",
                "-Wl,-Bsymbolic",
                "-fPIC",
                "-ffp-contract=off",
                *flags,
                str(source),
                "-o",
                str(library),
                "-lm",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        return str(library) if made.returncode == 0 else f"does not compile: {made.stderr[:600]}"

    def apart(self, kernel: str) -> str:
        """Run both in a process of its own."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            signal_after()
            os.write(writing, self.compared(kernel).encode())
            os._exit(0)
        os.close(writing)
        said = b"".join(iter(lambda: os.read(reading, 4096), b"")).decode()
        _, status = os.waitpid(child, 0)
        os.close(reading)
        late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        return said or (f"not done in {LIMIT_S} s" if late else "crashed")

    def compared(self, kernel: str) -> str:
        """In the child: both results."""
        wanted, found = self.serial(), self.candidate(kernel)
        for argument, one, two in zip(self.spec.outputs, wanted, found, strict=True):
            scale = np.abs(one.astype(np.float64)).max() if one.size else 0.0
            off = np.abs(one.astype(np.float64) - two.astype(np.float64)).max()
            allowed = {"rtol": TOLERANCE, "atol": TOLERANCE * 0.05 * max(scale, 1e-6), "equal_nan": True}
            if not np.allclose(one.astype(np.float64), two.astype(np.float64), **allowed):
                return f"wrong: {argument.name} off by {off:.3g} of {scale:.3g}"
        return "right"

    def serial(self) -> list[np.ndarray]:
        """What the function makes of the inputs."""
        given = {a.name: x.copy() for a, x in zip(self.spec.inputs, self.inputs, strict=True)}
        results = [
            given[a.name] if a.inout else np.zeros(shape(a, self.spec), dtype=a.dtype) for a in self.spec.outputs
        ]
        named = given | {a.name: r for a, r in zip(self.spec.outputs, results, strict=True)}
        call = ctypes.CDLL(self.function)[self.spec.function]
        call(*(pointer(named[a.name]) if a.pointer else value(a, self.spec) for a in self.spec.arguments))
        return results

    def candidate(self, kernel: str) -> list[np.ndarray]:
        """What the kernel makes of them, in memory that holds something else before."""
        results = [np.full(shape(a, self.spec), 77, dtype=a.dtype) for a in self.spec.outputs]
        ctypes.CDLL(kernel)["kernel"](*(pointer(x.copy()) for x in self.inputs), *(pointer(r) for r in results))
        return results


def on_host(code: str, spec: SerialSpec) -> str:
    """A kernel's file with the host's threads for a GPU, and an entry that calls it as its plan does."""
    plan = tomllib.loads(code[code.index("kernelwright") + 12 : code.index("*/")])
    pointers = [f"void* in{i}" for i, _ in enumerate(spec.inputs)] + [
        f"void* out{i}" for i, _ in enumerate(spec.outputs)
    ]
    rooms = enumerate(plan["workspace"])
    calls = [f"std::vector<char> room{i}({w['bytes']}); void* work{i} = room{i}.data();" for i, w in rooms]
    for i in plan.get("zeroed_outputs", []):
        size = int(np.prod(shape(spec.outputs[i], spec))) * np.dtype(spec.outputs[i].dtype).itemsize
        calls.append(f"std::memset(out{i}, 0, {size});")
    for launch in plan["launch"]:
        given = [a[a.index("(") + 1 : -1] if "(" in a else f"host::Any{{{a}}}" for a in launch["arguments"]]
        calls.append(f"host::run([=] {{ {launch['kernel']}({', '.join(given)}); }});")
    code = code.replace(WAITS, f"{WAITS} std::this_thread::yield();")
    any_ = "namespace host { struct Any { void* p; template <typename T> operator T*() const { return (T*)p; } }; }"
    entry = f'extern "C" void kernel({", ".join(pointers)}) {{ {" ".join(calls)} }}'
    return f'#include "{HERE / "cuda_on_cpu.hpp"}"\n{code}\n{any_}\n{entry}\n'


def signal_after() -> None:
    """End this process if it hangs; its kernel gets threads enough."""
    os.environ["OMP_NUM_THREADS"] = str(THREADS)
    signal.alarm(LIMIT_S)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """Where it begins; the array must outlive the call."""
    ALIVE.append(array)
    return ctypes.c_void_p(array.ctypes.data)


ALIVE: list[np.ndarray] = []


def value(
    argument: SerialArgument, spec: SerialSpec
) -> ctypes.c_float | ctypes.c_double | ctypes.c_long | ctypes.c_int:
    """What is passed by value."""
    if argument.dtype.startswith("float"):
        return (ctypes.c_float if argument.dtype == "float32" else ctypes.c_double)(float(argument.value))
    whole = worth(argument.value if not isinstance(argument.value, float) else int(argument.value), spec.sizes)
    return (ctypes.c_long if argument.dtype == "int64" else ctypes.c_int)(whole)


def shape(argument: SerialArgument, spec: SerialSpec) -> tuple[int, ...]:
    """Of an array."""
    return tuple(worth(extent, spec.sizes) for extent in argument.shape)


def drawn(argument: SerialArgument, spec: SerialSpec, luck: np.random.Generator) -> np.ndarray:
    """As the referee draws them."""
    size = shape(argument, spec)
    if argument.values == "index":
        return luck.integers(0, worth(argument.bound, spec.sizes), size).astype(argument.dtype)
    if argument.values in ("uniform", "positive"):
        return (luck.random(size) + (0.5 if argument.values == "positive" else 0)).astype(argument.dtype)
    if argument.values == "sign":
        return (luck.integers(0, 2, size) * 2 - 1).astype(argument.dtype)
    return (
        luck.standard_normal(size) if argument.dtype.startswith("float") else luck.integers(-1000, 1000, size)
    ).astype(argument.dtype)


if __name__ == "__main__":
    sys.exit(main())
