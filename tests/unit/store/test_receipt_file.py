"""A receipt's file is a stranger's text: read back equal, and refused whenever it is not what was written."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelwright.errors import ReceiptError, StoreError
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import Claim, Receipt, content_hash
from kernelwright.store import receipt_file
from kernelwright.store.receipt_file import read_receipt, write_receipt
from kernelwright.testing.samples import sample_environment, sample_measured, sample_task


def claim(**changed):
    fields = {
        "task": sample_task(),
        "candidate": Candidate(language="cpp", source="// é", entry="kernel"),
        "policy": Policy(),
        "effort": "final",
        "environment": sample_environment(),
        "evaluation": sample_measured(final=True).model_copy(update={"seeds": (0, (1 << 62) - 1)}),
    }
    return Claim(**(fields | changed))


@pytest.fixture
def file(tmp_path):
    return write_receipt(Receipt.sealed("2026-01-01T00:00:00+00:00", claim()), tmp_path / "receipt.json")


def rewritten(file, change, seal=False):
    """The file after `change` to its document; with a new hash if `seal`."""
    document = json.loads(file.read_text())
    change(document)
    if seal:
        document["hash"] = content_hash(document)
    file.write_text(json.dumps(document))
    return file


def test_a_receipt_is_read_back_equal_and_nothing_else_is_left(file):
    assert read_receipt(file).claim == claim()
    assert [f.name for f in file.parent.iterdir()] == ["receipt.json"]


def test_white_space_and_order_do_not_matter(file):
    document = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(document.items())), indent=7))
    assert read_receipt(file).claim == claim()


def _faster(document):
    document["claim"]["evaluation"]["timing"]["versus"][0]["speedup"]["median"] = 9.0


def _other_kernel(document):
    document["claim"]["candidate"]["source"] = "int x;"


def _other_date(document):
    document["created"] = "2027-01-01T00:00:00+00:00"


@pytest.mark.parametrize("change", [_faster, _other_kernel, _other_date])
def test_an_edited_receipt_is_caught(file, change):
    with pytest.raises(ReceiptError, match="was changed after it was written"):
        read_receipt(rewritten(file, change))


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_another_version_is_said_before_anything_else_is_read(file, version):
    with pytest.raises(ReceiptError, match="use the version of kernelwright that wrote it"):
        read_receipt(rewritten(file, lambda d: d.update(receipt=version, claim="unreadable")))


def test_a_field_of_a_later_version_is_named(file):
    with pytest.raises(ReceiptError, match=r"claim\.policy\.zeal"):
        read_receipt(rewritten(file, lambda d: d["claim"]["policy"].update(zeal=1), seal=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is no receipt"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "no JSON object"),
        (b'{"receipt": 1, "receipt": 1}', "appears twice"),
        (b'{"receipt": NaN}', "NaN is no number"),
        (b"[" * 200000, "is no receipt"),
        (b'{"receipt": ' + b"9" * 5000 + b"}", "is no receipt"),
        (b'{"receipt": 1, "hash": "0"}', "was changed"),
    ],
)
def test_what_is_no_receipt_is_refused_in_one_message(file, text, words):
    file.write_bytes(text)
    with pytest.raises(ReceiptError, match=words):
        read_receipt(file)


def test_a_file_that_is_missing_or_too_long_is_refused(file, monkeypatch):
    with pytest.raises(ReceiptError, match="cannot be read"):
        read_receipt(file.parent / "none.json")
    monkeypatch.setattr(receipt_file, "LIMIT_BYTES", 1 << 10)
    with pytest.raises(ReceiptError, match="longer than"):
        read_receipt(file)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(compile_limit_s=1e9),
        Policy(run_limit_s=float("nan")),
        Policy(run_limit_s=float("inf")),
        Policy(run_limit_s=-1),
        Policy(memory_bytes=1 << 50),
        Policy(seeds=10**6),
        Policy(final_blocks=10**9),
    ],
)
def test_a_receipt_cannot_ask_for_more_than_a_judge_would_do(tmp_path, policy):
    file = write_receipt(Receipt.sealed("now", claim(policy=policy)), tmp_path / "receipt.json")
    with pytest.raises(ReceiptError, match="asks for more"):
        read_receipt(file)


@pytest.mark.parametrize("seeds", [(-1,), (1 << 62,), tuple(range(2000))])
def test_seeds_that_no_referee_draws_are_refused(tmp_path, seeds):
    found = sample_measured().model_copy(update={"seeds": seeds})
    file = write_receipt(Receipt.sealed("now", claim(evaluation=found)), tmp_path / "receipt.json")
    with pytest.raises(ReceiptError, match="seeds"):
        read_receipt(file)


def test_a_receipt_cannot_have_a_kernel_run_without_the_defences(tmp_path):
    file = write_receipt(Receipt.sealed("now", claim(policy=Policy(disabled=("network",)))), tmp_path / "r.json")
    with pytest.raises(ReceiptError, match="not run here without them"):
        read_receipt(file)


def test_a_place_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        write_receipt(Receipt.sealed("now", claim()), tmp_path / "taken")
    assert [f.name for f in tmp_path.iterdir()] == ["taken"]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.sampled_from(["Infinity", "NaN", "\ud800", [[]] * 9, {"outcome": "measured"}, 1 << 70]),
)  # fmt: skip


def places(value, path=()):
    """Paths of everything inside a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


@settings(
    max_examples=200, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_whatever_stands_anywhere_it_is_a_receipt_or_refused(file, data):
    original = Receipt.sealed("2026-01-01T00:00:00+00:00", claim()).model_dump_json()
    document = json.loads(original)
    *path, last = data.draw(st.sampled_from([p for p in places(document) if p]))
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(VALUES)
    document["hash"] = content_hash(document)
    file.write_text(json.dumps(document))
    try:
        found = read_receipt(file)
    except ReceiptError as error:
        assert str(error)
    else:
        assert isinstance(found, Receipt)


def test_an_architecture_that_is_no_text_is_refused(file):
    document = json.loads(Receipt.sealed("2026-01-01T00:00:00+00:00", claim()).model_dump_json())
    document["claim"]["task"]["source"]["limits"]["arch"] = True
    document["hash"] = content_hash(document)
    file.write_text(json.dumps(document))
    with pytest.raises(ReceiptError, match=r"limits\.arch"):
        read_receipt(file)
