"""Forged receipts: a better figure, another kernel's, one that was judged without defences."""

import json

import pytest

from kernelwright.errors import ReceiptError
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Claim, Receipt, content_hash
from kernelwright.store import receipt_file
from kernelwright.testing.samples import sample_environment, sample_measured, sample_task


def written(folder, policy):
    claim = Claim(
        task=sample_task(),
        candidate=Candidate(language="cpp", source="// mine", entry="kernel"),
        policy=policy,
        effort="final",
        environment=sample_environment(),
        evaluation=sample_measured(final=True),
    )
    return receipt_file.write_receipt(Receipt.sealed("2026-01-01T00:00:00+00:00", claim), folder / "receipt.json")


def faster(claim):
    claim["evaluation"]["timing"]["versus"][0]["speedup"].update(median=9.0, high=10.0)


def another_kernel(claim):
    claim["candidate"]["source"] = "// not mine"


@pytest.mark.parametrize("forge", [faster, another_kernel])
def test_a_receipt_that_was_edited(tmp_path, monkeypatch, forge):
    file = written(tmp_path, Policy())
    assert receipt_file.read_receipt(file)
    document = json.loads(file.read_text())
    forge(document["claim"])
    file.write_text(json.dumps(document))
    with pytest.raises(ReceiptError, match="was changed after it was written"):
        receipt_file.read_receipt(file)
    monkeypatch.setattr(receipt_file, "content_hash", lambda found: found["hash"])
    assert receipt_file.read_receipt(file), "without the hash nothing would be noticed"


def test_a_receipt_of_a_judge_without_defences(tmp_path, monkeypatch):
    file = written(tmp_path, Policy(disabled=("timed_outputs",)))
    document = json.loads(file.read_text())
    assert document["hash"] == content_hash(document)
    with pytest.raises(ReceiptError, match="with defences switched off \\(timed_outputs\\)"):
        receipt_file.read_receipt(file)
    monkeypatch.setattr(receipt_file, "_must_be_modest", lambda receipt, path: None)
    assert receipt_file.read_receipt(file)
