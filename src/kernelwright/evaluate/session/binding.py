"""What a candidate's model says of its parameters, and whether it can be judged with them.

A candidate that cannot be given the reference's parameters can still be judged with those under which both models were
built, in a weaker tier (`construction`) that its verdict names. There, parameters whose elements are all equal when they are
built (biases of zeros, scales of ones) are given other values all the same, or a kernel that leaves them out would pass: a
candidate that has no place for one that the result depends on is refused.
"""

from kernelwright.evaluate.session.trial import OutcomeReached, Trial
from kernelwright.evaluate.triton.binding import level, unbound
from kernelwright.records.evaluation import Binding, BuildFailed, Refused
from kernelwright.records.graph import OpGraph, Ref


def bound(trial: Trial, told: Binding) -> None:
    """Take note of what the candidate's process says.

    Raises:
        OutcomeReached: it cannot be judged with the parameters that it holds.
    """
    session = trial.session
    trial.found.binding = told
    read = read_by(session.task.graph)
    needed = [name for name in told.left if name in read]
    if not needed or told.by_method:
        return
    if session.weights != "construction":
        shapes = {p.name: p.shape for p in session.parameters}
        raise OutcomeReached(BuildFailed(log=unbound(told.model_copy(update={"left": tuple(needed)}), shapes)))
    plain = [name for name in needed if name in levels(trial)]
    if plain:
        raise OutcomeReached(
            Refused(
                reason=f"nothing in its model holds {', '.join(plain[:20])}, whose elements are all equal when it is built: "
                "a kernel that leaves it out would look right. Keep the reference's name for it, or define "
                "load_reference(self, state_dict)"
            )
        )


def levels(trial: Trial) -> set[str]:
    """Parameters whose elements were all equal when the reference was built."""
    session, first = trial.session, len(trial.session.inputs)
    return {p.name for i, p in enumerate(session.parameters) if level(session.view(first + i, 0))}


def read_by(graph: OpGraph) -> set[str]:
    """The names that an operation reads, or that are returned as they are."""
    arguments = (a.value for node in graph.nodes for a in node.arguments)
    leaves = (leaf for value in arguments for leaf in (value if isinstance(value, tuple) else (value,)))
    return {leaf.ref for leaf in leaves if isinstance(leaf, Ref)} | set(graph.outputs)


def may_be_weaker(trial: Trial) -> bool:
    """Whether what was found may be due to parameters that the candidate could not be given, and may be judged without."""
    told = trial.found.binding
    if told is None or trial.weights == "construction" or trial.policy.unmatched != "construction":
        return False
    if told.left and not told.by_method:
        return True
    return trial.weights == "constant" and bool(told.constant)
