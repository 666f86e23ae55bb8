"""The library of techniques: reads the cards in `techniques/`, strictly; and few-shot pairs of a module and a kernel for it.

A card is a folder named after the technique: `card.md` (TOML between two lines `+++`, then the sections When, Effect
and Pitfalls), and, unless the graph alone has its examples, `task.py`, and `before` and `after` with one ending.
`measured.json` has the gains, by device and technique. No kernel is run here.

The pairs are the cards' examples, and where no card has one, the kernels in `pairs/<shape>/`, beside the module that they are
for. All of them go before the referee in the tests. A first prompt shows the pair that is nearest to the task's family.
"""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kernelwright.errors import UsageError
from kernelwright.languages import language, language_of
from kernelwright.records.base import Record
from kernelwright.records.candidate import Define
from kernelwright.records.names import LanguageName
from kernelwright.records.technique import Example, Gain, Technique

FOLDER = Path(str(files("kernelwright.knowledge"))) / "techniques"
"""Where `cards` and `measured.json` are."""
SECTIONS = ("When", "Effect", "Pitfalls")
_FRONT = re.compile(r"\A\+\+\+\n(?P<front>.*?)\n\+\+\+\n(?P<body>.*)\Z", re.DOTALL)
_GAINS = TypeAdapter(dict[str, dict[str, tuple[float, float, float]]])
_CONSTANT = r"(?m)^{name} = \d+$"


@cache
def rules() -> str:
    """How the referee judges, for whoever writes kernels: a Markdown list that prompts, SKILL.md and MCP share."""
    return files("kernelwright.knowledge").joinpath("rules.md").read_text(encoding="utf-8").strip()


@cache
def techniques() -> tuple[Technique, ...]:
    """Every technique, by name.

    Raises:
        UsageError: a card is not what it should be.
    """
    return read_library(FOLDER)


def techniques_with_examples() -> tuple[tuple[Technique, Example], ...]:
    """The cards with an example of their own, and that."""
    return tuple((card, card.example) for card in techniques() if card.example is not None)


@cache
def technique_names() -> frozenset[str]:
    """The name of every card, without reading one."""
    return frozenset(path.name for path in (FOLDER / "cards").iterdir())


def technique(name: str) -> Technique:
    """The technique of that name.

    Raises:
        UsageError: there is none.
    """
    known = {card.name: card for card in techniques()}
    if name not in known:
        raise UsageError(f"unknown technique {name!r}: expected one of {', '.join(known)}")
    return known[name]


def read_library(folder: Path) -> tuple[Technique, ...]:
    """Every card below `folder`, by name, with its gains.

    Raises:
        UsageError: a card is not what it should be, or `measured.json` names one that does not exist.
    """
    gains = read_gains(folder / "measured.json")
    found = tuple(read_card(path, gains.pop(path.name, ())) for path in sorted((folder / "cards").iterdir()))
    if gains:
        raise UsageError(f"{folder / 'measured.json'} has gains of {', '.join(gains)}: there are no such cards")
    return found


def read_gains(path: Path) -> dict[str, tuple[Gain, ...]]:
    """By technique, what it gained on each device.

    Raises:
        UsageError: the file is not a table of devices, techniques and three numbers.
    """
    try:
        table = _GAINS.validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path} must map devices to techniques to [median, low, high]: {error}") from None
    found: dict[str, tuple[Gain, ...]] = {}
    for device, rows in table.items():
        for name, (median, low, high) in rows.items():
            found[name] = (*found.get(name, ()), Gain(device=device, median=median, low=low, high=high))
    return found


def read_card(folder: Path, gains: tuple[Gain, ...] = ()) -> Technique:
    """The technique in one folder.

    Raises:
        UsageError: something is missing, too much, or of the wrong kind.
    """
    parts = _FRONT.match(_text(folder / "card.md"))
    if parts is None:
        raise UsageError(f"{folder / 'card.md'} must begin with TOML between two lines of +++")
    try:
        fields = tomllib.loads(parts["front"])
        example = _example(folder, fields.pop("sizes", {})) if (folder / "task.py").exists() else None
        given = {"name": folder.name, **fields, **_sections(folder, parts["body"])}
        found = Technique.model_validate_json(json.dumps(given), strict=True)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise UsageError(f"{folder / 'card.md'}: {error}") from None
    if example is not None and example.language not in found.languages:
        raise UsageError(f"{folder / 'card.md'}: its example is in {example.language}: name that in languages")
    return found.model_copy(update={"example": example, "gains": gains})


def _sections(folder: Path, body: str) -> dict[str, str]:
    parts = re.split(r"(?m)^## (.+)\n", body)
    if parts[0].strip() or tuple(parts[1::2]) != SECTIONS:
        raise UsageError(f"{folder / 'card.md'} must have the sections {', '.join(SECTIONS)}, in this order")
    return {name.lower(): " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _example(folder: Path, sizes: dict[str, int]) -> Example:
    kernels = sorted(path for path in folder.iterdir() if path.stem in ("before", "after"))
    suffixes = {path.suffix for path in kernels}
    if len(kernels) != 2 or len(suffixes) != 1:
        raise UsageError(f"{folder} must have one file `before` and one file `after`, with the same ending")
    after, before = (_text(path) for path in kernels)
    task = _text(folder / "task.py")
    for name in sizes:
        if not re.search(_CONSTANT.format(name=re.escape(name)), task):
            raise UsageError(f"{folder / 'task.py'} has no line `{name} = …` whose size could be changed")
    if before == after:
        raise UsageError(f"{folder}: both kernels are the same")
    try:
        written = language_of(before, suffixes.pop())
    except UsageError as error:
        raise UsageError(f"{folder}: {error}") from None
    defines = tuple(Define(name=name, value=value) for name, value in sizes.items())
    return Example(language=written.name, task=task, before=before, after=after, sizes=defines)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): every card needs it") from None


def card_words(technique: Technique) -> str:
    """A card in Markdown, for a model or a person."""
    gains = "; ".join(
        f"{gain.payoff}, {gain.median:.2f} times as fast as before ({gain.low:.2f} to {gain.high:.2f}) on {gain.device}"
        for gain in technique.gains
    )
    parts = [
        f"### {technique.title} (`{technique.name}`)",
        f"Eases: {', '.join(technique.bottlenecks)}. For: {', '.join(technique.targets)}, "
        f"in {', '.join(technique.languages)}.",
        f"When: {technique.when}",
        f"Effect: {technique.effect}",
        f"Measured: {gains or 'the example was verified; its gain was not measured.'}",
        f"Pitfalls: {technique.pitfalls}",
    ]
    if (example := technique.example) is not None:
        fence = language(example.language).fence
        parts += [
            f"The task of the example:\n\n```python\n{example.task.strip()}\n```",
            f"Before:\n\n```{fence}\n{example.before.strip()}\n```",
            f"After:\n\n```{fence}\n{example.after.strip()}\n```",
        ]
    return "\n\n".join(parts) + "\n"


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
CARDS = {
    "pointwise": ("fused-passes", "fused-element-wise-launches", "vectorised-loads"),
    "reduction": ("row-in-registers", "warp-shuffle-reduction"),
    "product": ("register-tiling-cpu", "grouped-block-order", "shared-memory-tiling"),
    "scan": ("warp-scan",),
}
"""Cards whose kernel with the technique is a good first kernel of its shape, one of a language."""
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
    examples = ((shape, technique(name).example) for shape, names in CARDS.items() for name in names)
    return (
        *(Pair(language=e.language, shape=shape, module=e.task, kernel=e.after) for shape, e in examples if e),
        *(
            Pair(language=name, shape=folder.name, module=_text(folder / "module.py"), kernel=_text(folder / file))
            for folder in sorted(PAIRS.iterdir())
            for name, file in FILES.items()
            if (folder / file).is_file()
        ),
    )
