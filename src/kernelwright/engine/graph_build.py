"""Growing a graph of techniques: from the library's cards, from trajectories in files, and from stored runs.

Every step is judged by the referee before it may enter. What was judged is noted line by line beside the graph, so that a
build which is cut goes on where it was, and judges nothing twice.
"""

from kernelwright.knowledge.graph.merge import with_example
from kernelwright.knowledge.library import exemplified
from kernelwright.languages import names_for
from kernelwright.records.technique import Example, Technique
from kernelwright.records.technique_graph import START, Edge, StepExample, TechniqueGraph, code_id


def from_cards() -> TechniqueGraph:
    """The library's cards as a graph: each example that a card has is a step from the start."""
    shown = exemplified()
    edges = (with_example(Edge(source=START, target=card.name), _step(card, shows)) for card, shows in shown)
    codes = {code_id(text): text for _, shows in shown for text in (shows.before, shows.after)}
    return TechniqueGraph(nodes=(START, *(card.name for card, _ in shown)), edges=tuple(edges), codes=codes)


def _step(card: Technique, shows: Example) -> StepExample:
    written = shows.language
    kind = next(kind for kind in card.targets if written in names_for(kind))
    return StepExample(
        name=f"{card.name}: its card",
        think=card.when,
        detail=card.effect,
        task=f"the card {card.name}",
        family=card.families[0] if card.families else "",
        kind=kind,
        language=written,
        sizes={size.name: size.value for size in shows.sizes},
        before=code_id(shows.before),
        after=code_id(shows.after),
        outcome="measured" if card.gains else "verified",
        gains=card.gains,
    )
