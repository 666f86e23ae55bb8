"""Techniques for a bottleneck, an operator family, a device and a language: what applies, what was measured, then words.

What does not apply is left out: another target, a language that it cannot be written in, a family that it is not for, what
was tried already. The rest is in the order of how near it is to the bottleneck, whether the words are about it, how much it
gained where it was measured, and whether it is for this family in particular. Gains on this very device come before those
on others; they are those of the graph's examples, and of the card's own.

The words are Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009), written out here: the
libraries that have it bring an index, SciPy or a model for what some sixty short texts do not need.
"""

import math
import re
from collections import Counter
from functools import cache

from kernelwright.knowledge.graph.file import shipped_graph
from kernelwright.knowledge.library import techniques
from kernelwright.records.base import Record
from kernelwright.records.feedback import BROADER, Bottleneck
from kernelwright.records.names import KindName, LanguageName
from kernelwright.records.technique import Gain, Technique

SATURATION, LENGTH = 1.5, 0.75
"""BM25's k1 and b, as usually chosen."""
TITLE_WEIGHT, TAG_WEIGHT = 3, 2
"""How often a word of the title and of the tags counts."""
ABOUT = 0.6
"""A card is about the words if it scores so much of the best score."""
_WORD = re.compile(r"[a-z0-9]+")
_ENDING = re.compile(r"(?:ations?|ings?|ed|es|s)$")
_AMERICAN = re.compile(r"(?<=[a-z]{3})iz(?=(?:e[drs]?|ing|ations?)\b)")
"""Of a verb in `-ize` and what derives from it; not the `iz` of `size`."""
_COMMON = frozenset(
    _WORD.findall(
        "a all an and any are as at be but by can do each for from has have how i if in into is it its make "
        "many me more much my no not of on one only or over should so than that the their them then there they this "
        "to use very we what when where which while whole why will with you"
    )
)


class Context(Record):
    """Where a technique is to be used; whatever is not known leaves nothing out."""

    kind: KindName | None = None
    language: LanguageName | None = None
    family: str = ""
    device: str = ""
    tried: tuple[str, ...] = ()
    """Techniques that are not offered again."""


class Hit(Record):
    """A technique that was found."""

    technique: Technique
    score: float
    """BM25; 0 where no words were asked for. Comparable within one answer only."""
    gain: float | None = None
    """Times as fast, over the steps that were measured; None: none was."""


ANYWHERE = Context()


def search(
    query: str = "", where: Context = ANYWHERE, bottleneck: Bottleneck | None = None, limit: int = 5
) -> tuple[Hit, ...]:
    """At most `limit` techniques, the one to try first at the beginning.

    A bottleneck finds the cards that name it, those that name it first at the beginning, before those that name the
    broader class it belongs to. Words find only cards that have one of them.
    """
    wanted = None if bottleneck == "unknown" else bottleneck
    cards = [card for card in techniques() if _applies(card, where) and (wanted is None or _nearness(card, wanted))]
    scores = _scores(words(query), techniques())
    best = max((scores[card.name] for card in cards), default=0.0)
    if words(query):
        cards = [card for card in cards if scores[card.name] > 0.0]
    hits = [Hit(technique=card, score=scores[card.name], gain=gain_of(card, where)) for card in cards]
    hits.sort(key=lambda hit: _rank(hit, where, wanted, best))
    return tuple(hits[: max(limit, 0)])


def _rank(hit: Hit, where: Context, bottleneck: Bottleneck | None, best: float) -> tuple[float | str, ...]:
    card, about = hit.technique, bool(best) and hit.score >= ABOUT * best
    near = _nearness(card, bottleneck) if bottleneck else 0
    special = bool(where.family) and where.family in card.families
    pays = hit.gain is not None and hit.gain > 1.0
    # Words that a person gave say more than a gain elsewhere; without any, gains lead within a family.
    score = hit.score if about and best else 0.0
    return (-near, -float(about), -score, -float(special), -float(pays), -(hit.gain or 1.0), card.name)


def _applies(card: Technique, where: Context) -> bool:
    return (
        (where.kind is None or where.kind in card.targets)
        and (where.language is None or where.language in card.languages)
        and (not where.family or not card.families or where.family in card.families)
        and card.name not in where.tried
    )


def _nearness(card: Technique, bottleneck: Bottleneck) -> int:
    """3: what it eases first; 2: what it eases too; 1: the broader class; 0: something else."""
    if bottleneck in card.bottlenecks:
        return 3 if card.bottlenecks[0] == bottleneck else 2
    return int(BROADER.get(bottleneck) in card.bottlenecks)


def gain_of(card: Technique, where: Context) -> float | None:
    """Times as fast, the geometric mean over what was measured: in this family and on this device if anything was there."""
    found = [*((gain, "") for gain in card.gains), *_measured().get(card.name, ())]
    here = [(g, family) for g, family in found if not where.device or g.device == where.device] or found
    alike = [g for g, family in here if family == where.family] or [g for g, _ in here]
    return math.exp(sum(math.log(gain.median) for gain in alike) / len(alike)) if alike else None


@cache
def _measured() -> dict[str, tuple[tuple[Gain, str], ...]]:
    """By technique, the gains of the shipped graph's steps with their families, those that lost included."""
    found: dict[str, tuple[tuple[Gain, str], ...]] = {}
    for edge in shipped_graph().edges:
        gains = ((gain, step.family) for step in (*edge.examples, *edge.counter) for gain in step.gains)
        found[edge.target] = (*found.get(edge.target, ()), *gains)
    return found


def words(text: str) -> list[str]:
    """The words of a text that count, without their endings; American and British spelling are one."""
    found = _WORD.findall(_AMERICAN.sub("is", text.lower()))
    return [_ENDING.sub("", word) if len(word) > 4 else word for word in found if word not in _COMMON]


def _scores(query: list[str], cards: tuple[Technique, ...]) -> dict[str, float]:
    texts = {card.name: Counter(_index(card)) for card in cards}
    mean = sum(text.total() for text in texts.values()) / max(len(texts), 1)
    scores = dict.fromkeys(texts, 0.0)
    for word in dict.fromkeys(query):
        having = sum(word in text for text in texts.values())
        rarity = math.log(1.0 + (len(texts) - having + 0.5) / (having + 0.5))
        for name, text in texts.items():
            length = 1.0 - LENGTH + LENGTH * text.total() / mean
            scores[name] += rarity * text[word] * (SATURATION + 1.0) / (text[word] + SATURATION * length)
    return scores


def _index(card: Technique) -> list[str]:
    titled = words(f"{card.title} {card.name}") * TITLE_WEIGHT + words(" ".join(card.tags)) * TAG_WEIGHT
    about = " ".join((card.when, card.effect, card.pitfalls, *card.bottlenecks, *card.languages))
    return titled + words(about)
