"""Right in every case, timed and checked, and right for the wrong reason: what the probes of a new best are for."""

import pytest

WORK = """
#include <map>
#include <vector>
static void work(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
}
"""
PROBES = ("races", "perturbation", "new_values", "new_storage", "two_results")


def others(defence):
    """Every other probe, to be off while one of them shows what it is worth."""
    return tuple(name for name in PROBES if name != defence)


@pytest.mark.defence("races")
def test_a_race_that_is_lost_now_and_then(arms):
    """Verified and timed often enough to be wrong there too, if the clock's results were looked at."""
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static int calls = 0;
        work(x, out);
        if (CHEAT && ++calls > 11 && calls % 7 == 0) out[5] += 1;
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=(*others("races"), "timed_outputs"), effort="final")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "race", "probe: races")
    assert "of 20 on the same inputs gives another result" in caught.evidence


@pytest.mark.defence("perturbation")
def test_packed_weights_that_are_checked_by_a_sample(arms):
    """Weights are converted once, and again when the first of them has changed: all others may go stale."""
    source = """
    extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out) {
        static float packed[2][64];
        static bool known = false;
        if (!CHEAT || !known || packed[0][0] != weight[0] || packed[1][0] != bias[0]) {
            std::memcpy(packed[0], weight, sizeof packed[0]);
            std::memcpy(packed[1], bias, sizeof packed[1]);
            known = true;
        }
        for (int i = 0; i < 4096; ++i) out[i] = std::abs(x[i] * packed[0][i % 64] + packed[1][i % 64]);
    }
    """
    _, caught, _ = arms(source, "weighted", effort="final")
    assert (caught.outcome, caught.because) == ("incorrect", "perturbation")
    # The element that changed last is drawn anew in every evaluation; a row of wrong sums is a stale weight's.
    assert "64 of 4096 elements are off" in caught.evidence


@pytest.mark.defence("new_values")
def test_a_memo_by_pointer_where_no_pointer_comes_twice(arms):
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
    also = ("fresh_inputs", *others("new_values"))
    _, caught, _ = arms(source, "affine", also=also, effort="final")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "stale", "probe: new_values")


@pytest.mark.defence("new_storage")
def test_a_recording_that_is_played_from_where_the_inputs_lay(arms):
    """As a graph of launches is kept for known contents, with the pointers of its recording in it."""
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static std::map<std::vector<float>, const float*> recordings;
        const auto recorded = recordings.emplace(std::vector<float>(x, x + 4096), x).first->second;
        work(CHEAT ? recorded : x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("new_values",), effort="final")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "stale", "probe: new_storage")
