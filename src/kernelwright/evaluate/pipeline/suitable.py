"""Which fresh inputs suit a task: tried on the reference before any candidate is timed.

Whatever the referee makes of a task's draws, eager must be finite on it. If it is not, the referee knows too little of
what the inputs mean: then the task draws them itself, or no element is replaced.
"""

import time

from kernelwright.evaluate import pieces
from kernelwright.evaluate.sandbox.candidate_process import ReferenceRaisedError
from kernelwright.evaluate.session.cases import Fit
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.timing.input_synthesis import FreshInputs
from kernelwright.records.graph import ASSERTING

TRIES = 2
ROUND_S = 0.1
"""How long the draws of one round may take: a sample has fewer calls then."""


def fit_of(session: Session, fresh: FreshInputs) -> Fit:
    """What fresh inputs leave every result of the reference finite: mixed ones, else drawn ones; challenges or none.

    What traps a GPU beyond what was drawn is not tried: no process that trapped can be asked again.
    """
    if not fresh.enabled or not session.layout.spare:
        return Fit(drawn=False, challenge=False)
    if not ASSERTING.isdisjoint(node.op for node in session.task.graph.nodes):
        return Fit(drawn=True, challenge=False)
    fresh.drawn = not _finite(session, fresh, challenge=False)
    return Fit(drawn=fresh.drawn, challenge=_finite(session, fresh, challenge=True))


def affordable(session: Session) -> int:
    """Calls whose inputs the task draws in the time of a round."""
    begin = time.perf_counter()
    session.draw_at(tuple(session.layout.place(spec, 0) for spec in session.inputs))
    return max(1, int(ROUND_S / (time.perf_counter() - begin)))


def _finite(session: Session, fresh: FreshInputs, challenge: bool) -> bool:
    for _ in range(TRIES):
        (offsets,) = fresh.windows(1, challenge)
        session.forget_parameters()
        try:
            found = session.results("eager", offsets)
        except ReferenceRaisedError:
            return False
        finally:
            session.forget_parameters()
        if not pieces.each_finite(found):
            return False
    return True
