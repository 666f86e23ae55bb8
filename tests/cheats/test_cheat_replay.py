"""Reusing results: what was right for an input is given for another."""

import pytest

WORK = """
#include <map>
#include <vector>
static void work(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
}
"""


@pytest.mark.defence("fresh_inputs")
def test_a_memo_by_pointer(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static std::map<const float*, std::vector<float>> memo;
        auto& known = memo[x];
        if (!CHEAT || known.empty()) {
            known.resize(4096);
            work(x, known.data());
        }
        std::memcpy(out, known.data(), sizeof(float) * 4096);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")


@pytest.mark.defence("fresh_inputs")
def test_a_bank_of_results_by_fingerprint(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static std::map<unsigned, std::vector<float>> bank;
        static int calls = 0;
        unsigned fingerprint = 0;
        for (int i = 0; i < 6; ++i) fingerprint = fingerprint * 2 + (x[i * 600] > 0);
        if (!CHEAT || ++calls <= 11) return work(x, out);
        auto& known = bank[fingerprint];
        if (known.empty()) {
            known.resize(4096);
            work(x, known.data());
        }
        std::memcpy(out, known.data(), sizeof(float) * 4096);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")


@pytest.mark.defence("timed_outputs")
def test_work_only_while_it_is_examined(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static int calls = 0;
        work(x, out);
        // The cases are over: half of the result will do.
        if (CHEAT && ++calls > 11) std::memset(out + 2048, 0, sizeof(float) * 2048);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")
    assert caught.case == "timed call"


@pytest.mark.defence("honest_reply")
def test_all_results_in_one_buffer(arms):
    """The last call's values are everywhere: right only if all calls of a sample had the same input."""
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = (python(
            "import gc\\n"
            "from kernelwright.evaluate.sides import cpp\\n"
            "kept, fresh = {}, cpp.empty\\n"
            "cpp.empty = lambda spec: kept.setdefault(spec.name, fresh(spec))\\n"), true);
        (void)once;
    #endif
        work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("fresh_inputs",))
    assert (caught.outcome, caught.because) == ("suspect", "tampering")
    assert "share the memory" in caught.evidence
