"""Search over the techniques: words in, cards out, the likeliest first, the same on every machine.

Okapi BM25 over the cards' words, written out here: the libraries that have it bring an index, SciPy or a model for what
some thirty short texts do not need.
"""

import math
import re
from collections import Counter

from kernelwright.knowledge.techniques.library import techniques
from kernelwright.languages import language
from kernelwright.records.base import Record
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.names import KindName
from kernelwright.records.technique import Gain, Technique

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
    query: str,
    target: KindName | None = None,
    bottleneck: Bottleneck | None = None,
    limit: int = 5,
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
