"""The suite under `tasks/`, as `tasks/suite.toml` lists it, and the field's tasks: for benches that go through all of it."""

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.task import TaskSource
from kernelwright.tasks.files import with_size
from kernelwright.tasks.table import read_task

ROOT = Path(__file__).parents[1] / "tasks"
FIELD_FAMILIES = {
    "pooling": ("*_pool*",),
    "arg-reduction": ("arg*", "max_with_positions"),
    "attention": ("attention*",),
    "softmax": ("*softmax", "logsumexp*"),
    "loss": ("*_loss", "*cross_entropy*", "bce_*", "kl_divergence"),
    "normalisation": ("*_norm*", "norm_last"),
    "matrix product": ("*matmul*", "linear", "matrix_vector"),
    "depthwise convolution": ("*_depthwise", "*_separable"),
    "transposed convolution": ("deconv*",),
    "convolution": ("conv*",),
    "scan": ("cum*",),
    "reduction": ("mean_*", "sum_*", "min_*", "max_*", "product_*", "variance_*", "deviation_*"),
    "layout": ("transpose", "flip_*", "pad_*", "upsample_*", "embedding"),
    "sorting": ("top_k",),
    "quantisation": ("quantise",),
    "element-wise": ("*",),
}
"""Of the single operators, by their names; the first that fits counts."""
FIELD_FOLDERS = {"chains": "fused chain", "networks": "network"}


class Listed(NamedTuple):
    """One task of the list."""

    name: str
    """Folder and stem, such as `fsr/relu`."""
    family: str
    operations: tuple[str, ...]
    """Of its OpGraph, without `aten.` and without views."""

    def source(self, size: str) -> TaskSource:
        """The task at one of its sizes."""
        return read_task(with_size(ROOT / f"{self.name}.py", size))


def listed(folder: str = "") -> list[Listed]:
    """Every task, or those of one folder, in the list's order."""
    table = tomllib.loads((ROOT / "suite.toml").read_text())
    tasks = [Listed(t["file"].removesuffix(".py"), t["family"], tuple(t["operations"])) for t in table["task"]]
    return [task for task in tasks if task.name.startswith(folder)]


def field() -> list[Listed]:
    """The tasks at the field's sizes, each with its family."""
    return [
        Listed(str(p.relative_to(ROOT).with_suffix("")), _family(p), ()) for p in sorted((ROOT / "field").rglob("*.py"))
    ]


def by_turns(tasks: Sequence[Listed]) -> list[Listed]:
    """The same tasks, one of each family after another: a pass that is cut has seen all of them."""
    families: dict[str, list[Listed]] = {}
    for task in tasks:
        families.setdefault(task.family, []).append(task)
    return [task for task in chain.from_iterable(zip_longest(*families.values())) if task is not None]


def _family(path: Path) -> str:
    if path.parent.name in FIELD_FOLDERS:
        return FIELD_FOLDERS[path.parent.name]
    return next(name for name, patterns in FIELD_FAMILIES.items() if any(fnmatch(path.stem, p) for p in patterns))
