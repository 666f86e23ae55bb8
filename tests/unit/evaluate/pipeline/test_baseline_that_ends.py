"""A compiled baseline that ends the reference's process is named and left out; the evaluation goes on."""

from types import SimpleNamespace

import pytest

from kernelwright.errors import RefereeError
from kernelwright.evaluate.pipeline import baselines
from kernelwright.evaluate.pipeline.service import EvaluationService
from kernelwright.evaluate.sandbox.child import ChildGoneError, ChildSlowError
from kernelwright.evaluate.sandbox.messages.calls import Prepare
from kernelwright.evaluate.sandbox.process import Process, ReferenceEndedError


class Child:
    """Ends, or hangs, at the first question."""

    def __init__(self, error):
        self.error = error

    def ask(self, *_):
        raise self.error


def asked(variant, error):
    process = Process(Child(error), 1.0)
    process.trust("the reference of 'mine'")
    process.ask(Prepare(variant=variant))


@pytest.mark.parametrize("error", [ChildGoneError("killed by SIGSEGV", ""), ChildSlowError(600.0)])
@pytest.mark.parametrize("variant", ["compile", "compile_max", "freeze", "graph"])
def test_it_is_told_which_of_them_it_was(variant, error):
    with pytest.raises(ReferenceEndedError, match="the reference of 'mine' failed") as raised:
        asked(variant, error)
    assert (raised.value.variant, raised.value.reason) == (variant, str(error))


@pytest.mark.parametrize("variant", ["fp64", "watch fp64"])
def test_the_reference_itself_is_no_baseline(variant):
    with pytest.raises(RefereeError) as raised:
        asked(variant, ChildGoneError("killed by SIGSEGV", ""))
    assert type(raised.value) is RefereeError


def test_the_work_is_done_again_without_it_and_the_next_session_knows():
    notes, service = [], EvaluationService(note=lambda text: notes.append(text))
    tries = []

    def work():
        gone = service._gone.setdefault("task", {})
        tries.append(dict(gone))
        for variant in ("compile", "freeze"):
            if variant not in gone:
                raise ReferenceEndedError(variant, "it failed", "killed by SIGSEGV")
        return "measured"

    try:
        assert service._without_gone("task", work) == "measured"
    finally:
        service.close()
    assert [sorted(one) for one in tries] == [[], ["compile"], ["compile", "freeze"]]
    assert notes[0] == "the baseline compile ends the reference's process: going on without it"
    session = SimpleNamespace(gone=service._gone["task"], prepared={})
    assert baselines.made(session, ["eager", "compile"]) == (
        ["eager"],
        ("compile: it ended the reference's process (killed by SIGSEGV)",),
    )


def test_one_that_was_left_out_and_ends_it_again_ends_the_work():
    service = EvaluationService(note=lambda text: None)

    def work():
        raise ReferenceEndedError("compile", "it failed", "killed by SIGSEGV")

    try:
        with pytest.raises(ReferenceEndedError):
            service._without_gone("task", work)
    finally:
        service.close()
