"""Few-shot pairs: a module and a right kernel for it, near the family of the task that a prompt is about.

They are the cards' examples, and where no card has one, the kernels in `pairs/<shape>/`, beside the module that they are for.
All of them go before the referee in the tests. A prompt shows one, so that a model sees a language's whole form at work.
"""

from functools import cache
from pathlib import Path

from kernelwright.knowledge.library import FOLDER, technique
from kernelwright.records.base import Record
from kernelwright.records.names import LanguageName

PAIRS = FOLDER.parent / "pairs"
SHAPES = {
    "pointwise": ("pointwise", "indexing", "layout"),
    "reduction": ("reduction", "normalisation", "loss", "sorting", "sparse", "graph", "geometry"),
    "product": ("contraction", "attention", "transform"),
    "scan": ("scan",),
    "stencil": ("stencil", "convolution", "pooling"),
}
"""Families of operations by the shape of their loops."""
USUAL = "reduction"
"""The shape that every language has a pair of."""
CARDS: dict[tuple[str, LanguageName], str] = {
    ("pointwise", "cpp"): "fused-passes",
    ("pointwise", "triton"): "fused-element-wise-launches",
    ("pointwise", "cuda"): "vectorised-loads",
    ("reduction", "triton"): "row-in-registers",
    ("reduction", "cuda"): "warp-shuffle-reduction",
    ("product", "cpp"): "register-tiling-cpu",
    ("product", "triton"): "grouped-block-order",
    ("product", "cuda"): "shared-memory-tiling",
    ("scan", "cuda"): "warp-scan",
}
"""Cards whose kernel with the technique is a good first kernel of its shape."""
FILES: dict[LanguageName, str] = {
    "cpp": "kernel.cpp",
    "triton": "kernel.py",
    "cuda": "plan.cu",
    "cuda_host": "host.cu",
    "python": "extension.py",
}
"""What a kernel is called beside its module."""


class Pair(Record):
    """A module and a kernel for it that was found right."""

    language: LanguageName
    shape: str
    module: str
    kernel: str


def nearest_pair(family: str, language: LanguageName) -> Pair | None:
    """The pair of this language whose shape is that of the family; else the usual one; None: the language has none."""
    shape = next((name for name, families in SHAPES.items() if family in families), USUAL)
    known = {pair.shape: pair for pair in pairs() if pair.language == language}
    return known.get(shape) or known.get(USUAL)


@cache
def pairs() -> tuple[Pair, ...]:
    """Every pair, the cards' first.

    Raises:
        UsageError: a card is not what it should be.
    """
    return (*(_of_card(shape, language, name) for (shape, language), name in CARDS.items()), *_of_files())


def _of_card(shape: str, language: LanguageName, name: str) -> Pair:
    example = technique(name).example
    assert example is not None
    assert example.language == language
    return Pair(language=language, shape=shape, module=example.task, kernel=example.after)


def _of_files() -> tuple[Pair, ...]:
    return tuple(
        Pair(language=language, shape=folder.name, module=_text(folder / "module.py"), kernel=_text(folder / file))
        for folder in sorted(PAIRS.iterdir())
        for language, file in FILES.items()
        if (folder / file).is_file()
    )


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
