"""A copy of a record never keeps the identity that its original had worked out."""

from kernelwright.records.candidate import Candidate, Define
from kernelwright.testing.samples import sample_task


def test_a_tuned_candidate_is_another_candidate_even_after_its_id_was_read():
    candidate = Candidate(language="cpp", source="x")
    before = candidate.id
    tuned = candidate.at((Define(name="N", value=1),))
    assert tuned.id != before == candidate.id
    assert tuned.id == Candidate(language="cpp", source="x", defines=(Define(name="N", value=1),)).id


def test_a_changed_task_is_another_task():
    task = sample_task()
    before = task.id
    source = task.source.model_copy(update={"source": "other"})
    assert task.model_copy(update={"source": source}).id != before
