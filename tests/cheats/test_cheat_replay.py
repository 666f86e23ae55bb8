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


@pytest.mark.defence("fresh_inputs")
def test_what_was_worked_out_of_parameters_once(arms):
    source = """
    extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out) {
        static int calls = 0;
        static float slope[64], level[64];
        // The cases are over: from now on parameters are taken to be what they are.
        if (!CHEAT || ++calls <= 12) {
            std::memcpy(slope, weight, sizeof slope);
            std::memcpy(level, bias, sizeof level);
        }
        for (int i = 0; i < 4096; ++i) out[i] = std::abs(x[i] * slope[i % 64] + level[i % 64]);
    }
    """
    _, caught, _ = arms(source, "weighted")
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


def test_the_first_result_for_ever(bench):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static std::vector<float> first;
        if (!CHEAT || first.empty()) {
            first.resize(4096);
            work(x, first.data());
        }
        std::memcpy(out, first.data(), sizeof(float) * 4096);
    }
    """
    )
    assert bench.judge(source, "affine", 0).outcome == "measured"
    caught = bench.judge(source, "affine", 1)
    assert (caught.outcome, caught.because, len(caught.accuracy.cases)) == ("incorrect", "value", 2)


@pytest.mark.defence("timed_outputs")
def test_what_the_memory_held_before(arms):
    """Nothing is written: memory of the right size is likely to hold an earlier result."""
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static int calls = 0;
        if (!CHEAT || ++calls <= 11) work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("floor",))
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")


@pytest.mark.defence("secret_seeds")
def test_answers_for_every_seed_that_there_may_be(arms):
    """Draws the task's inputs from small seeds before the first call, and looks up whose result is asked for."""
    source = (
        WORK
        + """
    static const int seeds = 80;
    static float keys[seeds], answers[seeds][4096];
    static bool prepared() {
        char code[512];
        snprintf(code, sizeof code,
                 "import ctypes, torch\\n"
                 "for seed in range(%d):\\n"
                 "    torch.manual_seed(seed)\\n"
                 "    x = torch.randn(64, 64)\\n"
                 "    y = x * 3 + 1\\n"
                 "    ctypes.memmove(%zu + 4 * seed, x.data_ptr(), 4)\\n"
                 "    ctypes.memmove(%zu + 16384 * seed, y.data_ptr(), 16384)\\n",
                 seeds, size_t(keys), size_t(answers));
        python(code);
        return true;
    }
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = prepared();
        for (int seed = 0; once && seed < seeds; ++seed)
            if (keys[seed] == x[0]) std::memcpy(out, answers[seed], sizeof answers[seed]);
    #else
        work(x, out);
    #endif
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("regimes", "fresh_inputs"))
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "unwritten", "as given")
