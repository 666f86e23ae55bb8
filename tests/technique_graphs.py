"""Small graphs of techniques for tests: a cube of switches, in which each technique changes one line of a code."""

from itertools import combinations

from kernelwright.records.technique import START, Edge, Gain, GraphScope, StepExample, TechniqueGraph, code_id

SERIAL = "serial code\n"
DEVICE = "Test device"


def code_of(on, names):
    """The code with these techniques applied."""
    return "".join(f"line of {name}: {'new' if name in on else 'old'}\nbetween\n" for name in names)


def example(before, after, name, gain=None, outcome="measured"):
    """One worked step."""
    gains = (Gain(device=DEVICE, median=gain, low=gain * 0.99, high=gain * 1.01),) if gain else ()
    return StepExample(
        name=name, think=f"why {name}", task="cube", family="reduction", kind="cpu", language="cpp", before=code_id(before),
        after=code_id(after), outcome=outcome, gains=gains,
    )  # fmt: skip


def cube(*names):
    """From the serial code to all techniques off, and from there every order of turning them on."""
    base = code_of((), names)
    codes = {code_id(text): text for text in (SERIAL, base)}
    edges = [Edge(source=START, target="base", examples=(example(SERIAL, base, "base"),))]
    sets = [on for size in range(len(names)) for on in combinations(names, size)]
    for name in names:
        steps = {on: (code_of(on, names), code_of({*on, name}, names)) for on in sets if name not in on}
        codes |= {code_id(text): text for step in steps.values() for text in step}
        for source in ("base", *(other for other in names if other != name)):
            taken = [step for on, step in steps.items() if source in on or (source == "base" and not on)]
            edges.append(Edge(source=source, target=name, examples=tuple(example(*step, name) for step in taken)))
    return TechniqueGraph(nodes=(START, "base", *names), edges=tuple(edges), codes=codes)


def scope(graph, **changed):
    """The scope of a run on the serial code."""
    given = {"graph": graph, "root": SERIAL, "kind": "cpu", "language": "cpp", "family": "reduction", "device": DEVICE}
    return GraphScope(**(given | changed))
