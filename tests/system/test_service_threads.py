"""The referee asked by several threads at once: every candidate meets cases that nobody outside knows."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from bad_input import AFFINE, CPU, GOOD, QUICK

from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Incorrect, Measured, Verified
from kernelwright.records.task import TaskSource

POLICY = QUICK.model_copy(update={"final_blocks": 4})
SOURCE = TaskSource(name="affine", format="kernelbench", source=AFFINE)
RIGHT = Candidate(language="cpp", source=GOOD, entry="kernel")
WRONG = Candidate(language="cpp", source=GOOD.replace("+ 1", "+ 1.01f"), entry="kernel")


@pytest.fixture(scope="module")
def service():
    """A referee in this process."""
    notes = []
    one = EvaluationService(notes.append)
    yield one
    one.close()


@pytest.fixture(scope="module")
def task(service):
    return service.admit(SOURCE, CPU, POLICY)


@pytest.mark.matrix
def test_finals_searches_and_replays_at_once(service, task):
    known = service.evaluate(task, RIGHT, POLICY, "final")
    assert isinstance(known, Measured), known
    with ThreadPoolExecutor(6) as pool:
        remeasurement = [pool.submit(service.evaluate, task, c, POLICY, "final") for c in (RIGHT, WRONG, RIGHT)]
        replays = [pool.submit(service.replay, task, RIGHT, POLICY, known.seeds) for _ in range(2)]
        searches = [pool.submit(service.evaluate, task, c, POLICY, "search") for c in (RIGHT, WRONG, RIGHT, RIGHT)]
        found = [f.result() for f in remeasurement]
        again = [r.result() for r in replays]
        searched = [s.result() for s in searches]
    assert [type(f) for f in found] == [Measured, Incorrect, Measured]
    for one in again:
        assert isinstance(one, Verified), one
        assert (one.seeds, one.accuracy) == (known.seeds, known.accuracy)
    assert [type(s) for s in searched] == [Measured, Incorrect, Measured, Measured]
    assert all(s.seeds == () for s in searched)
    revealed = [known, found[0], found[2]]
    assert len({seed for one in revealed for seed in one.seeds}) == sum(len(one.seeds) for one in revealed)
    told = [one.accuracy for one in revealed]
    assert all(s.accuracy not in told for s in searched), "what was drawn from revealed seeds judges nobody else"


def test_a_task_is_admitted_once_however_many_ask(service, task):
    session = service._session(task, POLICY)
    with ThreadPoolExecutor(4) as pool:
        assert {id(s) for s in pool.map(lambda _: service._session(task, POLICY), range(8))} == {id(session)}
        examined, judged = (
            pool.submit(service.examine, SOURCE, CPU, POLICY),
            pool.submit(service.evaluate, task, RIGHT, POLICY, "search"),
        )
        assert examined.result().checks
        assert isinstance(judged.result(), Measured)
