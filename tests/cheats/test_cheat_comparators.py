"""Wrong answers where several could be right: positions, bits, integers on an edge, random numbers."""

from pathlib import Path

import pytest
from cheat_tasks import QUICK
from file_tasks import HONEST

from kernelwright.records.candidate import Candidate

PRELUDE = (Path(__file__).parent / "honest" / "prelude.h").read_text()

RANDOM = (
    "static uint64_t s = 88172645463325252u; s ^= s << 13; s ^= s >> 7; s ^= s << 17; const bool kept = (s >> 40) % 4;"
)


@pytest.fixture
def judged(bench):
    """Judges the body of a kernel on one of the honest twins' tasks."""

    def judged(name, arguments, body, effort="search", disabled=()):
        source = f'{PRELUDE}extern "C" void kernel({arguments}) {{ {body} }}'
        candidate = Candidate(language="cpp", source=source, entry="kernel")
        task = HONEST[name].source(name)
        return bench.evaluate(task, candidate, QUICK.model_copy(update={"disabled": disabled}), effort)

    return judged


@pytest.mark.parametrize(
    ("name", "arguments", "body", "told"),
    [
        ("largest", "const float* x, int64_t* out", "std::fill(out, out + 64, 3);", "its positions pick other values"),
        ("largest", "const float* x, int64_t* out", "std::fill(out, out + 64, 40);", "outside 0 to 39"),
        (
            "order",
            "const float* x, int64_t* out",
            "for (int r = 0; r < 16; ++r) { int b = std::min_element(x + r*25, x + r*25 + 25) - (x + r*25);"
            " std::fill(out + r*25, out + r*25 + 25, b); }",
            "come twice",
        ),
        (
            "bits",
            "const float* x, float* out",
            "for (int i = 0; i < 64*96; ++i) out[i] = x[i/96*96 + 95 - i%96] * 1.0000001f;",
            "not the reference's bits",
        ),
        (
            "quantised",
            "const float* x, int8_t* out",
            "for (int i = 0; i < 64*96; ++i) out[i] = int8_t(std::min(127.f, std::max(-127.f, x[i] * 20.f)));",
            "may be off by one step, where rounding decides",
        ),
        ("dropout", "const float* x, float* out", "for (int i = 0; i < 1024; ++i) out[i] = x[i];", "all the same"),
        (
            "dropout",
            "const float* x, float* out",
            "for (int i = 0; i < 1024; ++i) out[i] = (i * 2654435761u >> 20) % 4 ? x[i] * (4.f / 3) : 0;",
            "all the same",
        ),
        (
            "dropout",
            "const float* x, float* out",
            f"for (int i = 0; i < 1024; ++i) {{ {RANDOM} out[i] = kept || i % 4 == 0 ? x[i] * (4.f / 3) : 0; }}",
            "would come up by chance",
        ),
        (
            "dropout",
            "const float* x, float* out",
            f"for (int r = 0; r < 32; ++r) {{ {RANDOM} for (int i = r * 32; i < r * 32 + 32; ++i)"
            " out[i] = kept ? x[i] * (4.f / 3) : 0; }",
            "would come up by chance",
        ),
    ],
    ids=["constant position", "position outside", "one position for all", "last bits", "truncated", "nothing dropped",
         "the same mask", "a part kept", "a row at a time"],
)  # fmt: skip
def test_what_none_of_the_right_answers_is(judged, name, arguments, body, told):
    found = judged(name, arguments, body)
    assert (found.outcome, found.because) == ("incorrect", "value"), found
    assert told in found.evidence


@pytest.mark.matrix
def test_a_result_that_is_random_while_it_is_verified_only(judged):
    body = (
        f"static int calls = 0; if (++calls > 260) {{ for (int i = 0; i < 1024; ++i) out[i] = x[i]; return; }}"
        f" for (int i = 0; i < 1024; ++i) {{ {RANDOM} out[i] = kept ? x[i] * (4.f / 3) : 0; }}"
    )
    found = judged("dropout", "const float* x, float* out", body)
    assert (found.outcome, found.because) == ("incorrect", "timed_output"), found


def test_a_race_that_verification_did_not_meet(judged):
    """Wrong once in a while, after a time: the reruns of a new best meet it."""
    body = (
        "static int calls = 0; for (int r = 0; r < 33; ++r) { float s = 0; for (int i = 0; i < 1000; ++i) s += x[r*1000+i];"
        " out[r] = s; } if (++calls > LIMIT && calls % 7 == 0) out[5] += 1;"
    )
    clean = judged("row_sum", "const float* x, float* out", body.replace("LIMIT", "1000000"), "final")
    assert clean.outcome == "measured", clean
    assert {p.status for p in clean.audit.probes} == {"passed", "not_run"}
    found = judged("row_sum", "const float* x, float* out", body.replace("LIMIT", "20"), "final")
    assert found.outcome == "incorrect", found


COMPARED = {
    "exact": (
        "bits",
        "const float* x, float* out",
        "for (int i = 0; i < 64*96; ++i) out[i] = x[i/96*96 + 95 - i%96]; out[77] = std::nextafter(out[77], 1e9f);",
        "not the reference's bits",
    ),
    "set": (
        "largest",
        "const float* x, int64_t* out",
        "for (int r = 0; r < 64; ++r) { int best = 0; for (int i = 1; i < 40; ++i)"
        " if (x[r*40+i] > x[r*40+best]) best = i; out[r] = r == 9 ? (best + 1) % 40 : best; }",
        "its positions pick other values",
    ),
    "statistical": (
        "dropout",
        "const float* x, float* out",
        f"for (int i = 0; i < 1024; ++i) {{ {RANDOM.replace('% 4', '% 3')} out[i] = kept ? x[i] * (4.f / 3) : 0; }}",
        "would come up by chance",
    ),
}
"""By the comparator that tells it: bits that a tolerance would take, a runner-up for the largest, a coin that is a little
loaded."""


@pytest.mark.parametrize("kind", COMPARED)
def test_a_comparator_tells_what_is_nearly_right(judged, kind):
    *kernel, says = COMPARED[kind]
    found = judged(*kernel)
    assert (found.outcome, found.because) == ("incorrect", "value")
    assert says in found.evidence


@pytest.mark.matrix
@pytest.mark.parametrize("kind", COMPARED)
def test_without_its_comparator_nobody_looks(judged, kind):
    through = judged(*COMPARED[kind][:3], disabled=(kind,))
    assert through.outcome == "measured", through
    assert through.disabled == (kind,)
