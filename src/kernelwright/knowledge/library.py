"""The library of techniques: reads the cards in `techniques/`, strictly, and searches them.

A card is a folder named after the technique: `card.md` (TOML between two lines `+++`, then the sections When, Effect
and Pitfalls), `task.py`, and `before` and `after` with one ending. `measured.json` has the gains, by device and
technique. No kernel is run here.

The search is Okapi BM25 over the cards' words, written out here: the libraries that have it bring an index, SciPy or a
model for what some thirty short texts do not need.
"""

import json
import math
import re
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernelwright.errors import UsageError
from kernelwright.languages import language, language_of
from kernelwright.records.base import Record
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.names import KindName
from kernelwright.records.technique import Gain, Technique

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
        example = _example(folder, fields.pop("sizes", {}))
        given = {"name": folder.name, "example": example, "gains": gains, **fields, **_sections(folder, parts["body"])}
        found = Technique.model_validate_json(json.dumps(given), strict=True)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise UsageError(f"{folder / 'card.md'}: {error}") from None
    if found.example.language not in found.languages:
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


SATURATION, LENGTH = 1.5, 0.75
"""BM25's k1 and b, as usually chosen."""
TITLE_WEIGHT, TAG_WEIGHT = 3, 2
"""How often a word of the title and of the tags counts."""
_WORD = re.compile(r"[a-z0-9]+")
_ENDING = re.compile(r"(?:ations?|ings?|ed|es|s)$")
_COMMON = frozenset(
    _WORD.findall(
        "a all an and any are as at be but by can do each for from has have how i if in into is it its make "
        "many me more much my no not of on one only or over should so than that the their them then there they this "
        "to use very we what when where which while whole why will with you"
    )
)


class Hit(Record):
    """A technique that was found."""

    technique: Technique
    score: float
    """BM25; 0 where no words were asked for. Comparable within one answer only."""


def search(
    query: str, target: KindName | None = None, bottleneck: Bottleneck | None = None, limit: int = 5
) -> tuple[Hit, ...]:
    """At most `limit` techniques that have to do with the query.

    `target` and `bottleneck` leave out what does not apply. A bottleneck finds the cards that name it before those that
    name the broader class that it belongs to. Without words in the query, all that apply are in order of what they gained.
    """
    cards = tuple(card for card in techniques() if target is None or target in card.targets)
    scores = _scores(words(query), techniques())
    ranked = [
        (_nearness(card, bottleneck), scores.get(card.name, 0.0), card)
        for card in cards
        if bottleneck in (None, "unknown") or _nearness(card, bottleneck)
    ]
    if words(query):
        ranked = [found for found in ranked if found[1] > 0.0]
    ranked.sort(key=lambda found: (-found[0], -found[1], -_gained(found[2]), found[2].name))
    return tuple(Hit(technique=card, score=score) for _, score, card in ranked[: max(limit, 0)])


def card_words(technique: Technique) -> str:
    """A card in Markdown, for a model or a person."""
    example, fence = technique.example, language(technique.example.language).fence
    parts = [
        f"### {technique.title} (`{technique.name}`)",
        f"Eases: {', '.join(technique.bottlenecks)}. For: {', '.join(technique.targets)}, "
        f"in {', '.join(technique.languages)}.",
        f"When: {technique.when}",
        f"Effect: {technique.effect}",
        f"Measured: {_measured(technique.gains)}",
        f"Pitfalls: {technique.pitfalls}",
        f"The task of the example:\n\n```python\n{example.task.strip()}\n```",
        f"Before:\n\n```{fence}\n{example.before.strip()}\n```",
        f"After:\n\n```{fence}\n{example.after.strip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def words(text: str) -> list[str]:
    """The words of a text that count, without their endings; American and British spelling are one."""
    found = _WORD.findall(text.lower().replace("iz", "is"))
    return [_ENDING.sub("", word) if len(word) > 4 else word for word in found if word not in _COMMON]


def _scores(query: list[str], cards: tuple[Technique, ...]) -> dict[str, float]:
    texts = {card.name: Counter(_indexed(card)) for card in cards}
    mean = sum(text.total() for text in texts.values()) / max(len(texts), 1)
    scores = dict.fromkeys(texts, 0.0)
    for word in dict.fromkeys(query):
        having = sum(word in text for text in texts.values())
        rarity = math.log(1.0 + (len(texts) - having + 0.5) / (having + 0.5))
        for name, text in texts.items():
            length = 1.0 - LENGTH + LENGTH * text.total() / mean
            scores[name] += rarity * text[word] * (SATURATION + 1.0) / (text[word] + SATURATION * length)
    return scores


def _indexed(card: Technique) -> list[str]:
    titled = words(f"{card.title} {card.name}") * TITLE_WEIGHT + words(" ".join(card.tags)) * TAG_WEIGHT
    about = " ".join((card.when, card.effect, card.pitfalls, *card.bottlenecks, *card.languages))
    return titled + words(about)


def _nearness(card: Technique, bottleneck: Bottleneck | None) -> int:
    if bottleneck is None:
        return 0
    return 2 if bottleneck in card.bottlenecks else int(BROADER.get(bottleneck) in card.bottlenecks)


def _gained(card: Technique) -> float:
    return max((gain.median for gain in card.gains), default=0.0)


def _measured(gains: tuple[Gain, ...]) -> str:
    if not gains:
        return "the example was verified; its gain was not measured."
    return "; ".join(
        f"{gain.payoff}, {gain.median:.2f} times as fast as before ({gain.low:.2f} to {gain.high:.2f}) on {gain.device}"
        for gain in gains
    )
