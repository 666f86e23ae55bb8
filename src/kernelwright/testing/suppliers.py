"""Scripted suppliers: the whole command without a compiler, a sandbox or a report."""

from kernelwright.engine.events import Listener, silent
from kernelwright.engine.suppliers import Suppliers
from kernelwright.records.check import Check
from kernelwright.store.cache import EvaluationCache
from kernelwright.testing.scripted import ScriptedEvaluator, ScriptedProposer


def scripted_suppliers(
    evaluator: ScriptedEvaluator | None = None,
    proposer: ScriptedProposer | None = None,
    listener: Listener = silent,
    cache: EvaluationCache | None = None,
) -> Suppliers:
    """Every part scripted; the kernel's file and the page say what they were made from."""
    return Suppliers(
        evaluator=lambda policy, place, note: evaluator or ScriptedEvaluator(outcomes=("measured",)),
        proposer=lambda name: proposer or ScriptedProposer(),
        wrap=lambda task, candidate: f"# {task.name}\n{candidate.source}",
        render=lambda card, attempts, outcome, turns: f"<p>{card.id}: {len(attempts)} attempts</p>",
        present=lambda card, attempts, outcome, turns: f"{card.id}: {len(attempts)} attempts",
        examine=lambda: [Check(name="compiler", status="ok", detail="scripted")],
        cache=lambda: cache,
        states=lambda: None,
        listener=listener,
    )
