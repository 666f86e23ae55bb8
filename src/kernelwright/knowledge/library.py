"""The library of techniques: reads the cards in `techniques/`, strictly.

A card is a folder named after the technique: `card.md` (TOML between two lines `+++`, then the sections When, Effect
and Pitfalls), and, unless the graph alone has its examples, `task.py`, and `before` and `after` with one ending.
`measured.json` has the gains, by device and technique. No kernel is run here.
"""

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernelwright.errors import UsageError
from kernelwright.languages import language, language_of
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


def exemplified() -> tuple[tuple[Technique, Example], ...]:
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


def read_gains(path: Path) -> dict[str, tuple[dict[str, Any], ...]]:
    """By technique, what it gained on each device.

    Raises:
        UsageError: the file is not a table of devices, techniques and three numbers.
    """
    try:
        table = _GAINS.validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path} must map devices to techniques to [median, low, high]: {error}") from None
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    for device, rows in table.items():
        for name, (median, low, high) in rows.items():
            gain = {"device": device, "median": median, "low": low, "high": high}
            found[name] = (*found.get(name, ()), gain)
    return found


def read_card(folder: Path, gains: tuple[dict[str, Any], ...] = ()) -> Technique:
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
        given = {"name": folder.name, "example": example, "gains": gains, **fields, **_sections(folder, parts["body"])}
        found = Technique.model_validate_json(json.dumps(given), strict=True)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise UsageError(f"{folder / 'card.md'}: {error}") from None
    if found.example is not None and found.example.language not in found.languages:
        raise UsageError(f"{folder / 'card.md'}: its example is in {found.example.language}: name that in languages")
    return found


def _sections(folder: Path, body: str) -> dict[str, str]:
    parts = re.split(r"(?m)^## (.+)\n", body)
    if parts[0].strip() or tuple(parts[1::2]) != SECTIONS:
        raise UsageError(f"{folder / 'card.md'} must have the sections {', '.join(SECTIONS)}, in this order")
    return {name.lower(): " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _example(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
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
    return {
        "language": _language(folder, suffixes.pop(), before),
        "task": task,
        "before": before,
        "after": after,
        "sizes": [{"name": name, "value": value} for name, value in sizes.items()],
    }


def _language(folder: Path, suffix: str, source: str) -> str:
    try:
        return language_of(source, suffix).name
    except UsageError as error:
        raise UsageError(f"{folder}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): every card needs it") from None


def card_words(technique: Technique) -> str:
    """A card in Markdown, for a model or a person."""
    parts = [
        f"### {technique.title} (`{technique.name}`)",
        f"Eases: {', '.join(technique.bottlenecks)}. For: {', '.join(technique.targets)}, "
        f"in {', '.join(technique.languages)}.",
        f"When: {technique.when}",
        f"Effect: {technique.effect}",
        f"Measured: {_measured(technique.gains)}",
        f"Pitfalls: {technique.pitfalls}",
        *(_example_words(technique.example) if technique.example is not None else ()),
    ]
    return "\n\n".join(parts) + "\n"


def _example_words(example: Example) -> tuple[str, ...]:
    fence = language(example.language).fence
    return (
        f"The task of the example:\n\n```python\n{example.task.strip()}\n```",
        f"Before:\n\n```{fence}\n{example.before.strip()}\n```",
        f"After:\n\n```{fence}\n{example.after.strip()}\n```",
    )


def _measured(gains: tuple[Gain, ...]) -> str:
    if not gains:
        return "the example was verified; its gain was not measured."
    return "; ".join(
        f"{gain.payoff}, {gain.median:.2f} times as fast as before ({gain.low:.2f} to {gain.high:.2f}) on {gain.device}"
        for gain in gains
    )
