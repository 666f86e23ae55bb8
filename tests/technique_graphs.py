"""Small graphs of techniques for tests: a cube of switches, in which each technique changes one line of a code."""

from kernelwright.records.technique import Gain
from kernelwright.records.technique_graph import START, Edge, GraphScope, StepExample, TechniqueGraph, code_id

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
    for name in names:
        after = code_of((name,), names)
        codes[code_id(after)] = after
        for source in ("base", *(other for other in names if other != name)):
            edges.append(Edge(source=source, target=name, examples=(example(base, after, name),)))
    return TechniqueGraph(nodes=(START, "base", *names), edges=tuple(edges), codes=codes)


def scope(graph, **changed):
    """The scope of a run on the serial code."""
    given = {"graph": graph, "root": SERIAL, "kind": "cpu", "language": "cpp", "family": "reduction", "device": DEVICE}
    return GraphScope(**(given | changed))
