"""Importing the package is quick and needs no GPU library: the referee's processes load them, nobody else."""

import json
import pkgutil
import subprocess
import sys

import pytest

import kernelwright

HEAVY = ("torch", "triton", "numpy", "cuda", "cupy", "transformers", "ray")

LOADED = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps(sorted({m.partition(".")[0] for m in sys.modules})))
"""
LISTED = """
import json, sys
from kernelwright.interfaces.cli.main import invoke
code = invoke(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "triton", "numpy", "cuda"}:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)

sys.meta_path.insert(0, Blocked())
from kernelwright.interfaces.cli.main import invoke
sys.exit(invoke(sys.argv[1:]))
"""


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name",
    [
        "kernelwright",
        "kernelwright.api",
        "kernelwright.interfaces.cli.main",
        "kernelwright.evaluate.referee",
        "kernelwright.evaluate.doctor",
        "kernelwright.testing.samples",
    ],
)
def test_nothing_heavy_is_loaded(name):
    done = python(LOADED, name)
    assert done.returncode == 0, done.stderr
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], {"pydantic", "rich", "kernelwright.records", "kernelwright.interfaces.cli.optimize"}),
        (["--version"], {"pydantic", "rich", "kernelwright.records", "kernelwright.interfaces.cli.optimize"}),
        # typer reads the types of a verb's options with pydantic
        (["runs", "--help"], {"rich.markdown", "kernelwright.records", "kernelwright.interfaces.cli.optimize"}),
        # names the strategies, which only the program knows
        (["optimize", "--help"], {"rich.markdown", "kernelwright.interfaces.cli.bench"}),
    ],
)
def test_help_imports_neither_records_nor_other_verbs(arguments, absent):
    done = python(LISTED, *arguments)
    assert done.returncode == 0, done.stderr
    assert not ({"torch", "triton"} | absent) & set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "package", ["records", "search", "tasks", "reward", "feedback", "store", "report", "execution"]
)
def test_no_layer_below_the_referee_needs_torch(package):
    modules = pkgutil.walk_packages([f"{kernelwright.__path__[0]}/{package}"], f"kernelwright.{package}.")
    names = [m.name for m in modules]
    done = python(f"import importlib\nfor n in {names!r}:\n    importlib.import_module(n)\n" + LOADED, "sys")
    assert done.returncode == 0, done.stderr
    assert not {"torch", "triton"} & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "doctor"),
        (["--version"], kernelwright.__version__),
        (["optimize", "--help"], "--strategy"),
        (["doctor", "--help"], "Check this machine's compilers"),
    ],
)
def test_the_command_speaks_where_torch_cannot_be_imported(arguments, said):
    done = python(BLOCKED, *arguments)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
