"""Not doing the work: less of it, coarser, for the inputs at hand only, or of another shape."""

import pytest
from cheat_tasks import TASKS

from kernelwright.errors import TaskError


@pytest.mark.defence("calibrated")
def test_half_precision_inside(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int i = 0; i < 4096; ++i) {
    #if CHEAT
            out[i] = float(_Float16(_Float16(x[i]) * _Float16(3))) + 1;
    #else
            out[i] = x[i] * 3 + 1;
    #endif
        }
    }
    """
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "value", "as given")
    assert "allowed" in caught.evidence


@pytest.mark.defence("calibrated")
def test_sums_in_short_floats(arms):
    source = """
    static float rounded(float value) {
        if (!CHEAT) return value;
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        bits = (bits + 0x8000) & 0xffff0000;
        std::memcpy(&value, &bits, 4);
        return value;
    }
    extern "C" void kernel(const float* x, float* out) {
        for (int row = 0; row < 64; ++row) {
            float total = 0;
            for (int i = 0; i < 64; ++i) total += x[row * 64 + i] * x[row * 64 + i];
            out[row] = rounded(total) / 64;
        }
    }
    """
    _, caught, _ = arms(source, "rows")
    assert (caught.outcome, caught.because) == ("incorrect", "value")


@pytest.mark.defence("regimes")
def test_fixed_point_for_the_range_at_hand(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int i = 0; i < 4096; ++i) {
    #if CHEAT
            const auto fixed = int64_t(x[i] * 16777216.0f + (x[i] < 0 ? -0.5f : 0.5f));
            out[i] = float(fixed > 0 ? fixed : -fixed) / 16777216.0f;
    #else
            out[i] = x[i] > 0 ? x[i] : -x[i];
    #endif
        }
    }
    """
    _, caught, _ = arms(source, "absolute")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "value", "times 0.01")


def test_the_expectation_instead_of_the_mean(bench):
    """The mean square of 65536 normal numbers is one, near enough; nothing is read."""
    source = 'extern "C" void kernel(const float*, float* out) { *out = 1; }'
    found = bench.judge(source, "power", 1)
    assert (found.outcome, found.because) == ("incorrect", "value")


def test_one_element_in_a_hundred(bench):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        double total = 0;
        for (int i = 0; i < 65536; i += 100) total += double(x[i]) * x[i];
        *out = float(total / 656);
    }
    """
    found = bench.judge(source, "power", 1)
    assert (found.outcome, found.because) == ("incorrect", "value")


@pytest.mark.defence("random_parameters")
def test_weights_that_begin_as_ones(arms):
    source = """
    extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out) {
        for (int i = 0; i < 4096; ++i)
            out[i] = std::abs(CHEAT ? x[i] : x[i] * weight[i % 64] + bias[i % 64]);
    }
    """
    _, caught, _ = arms(source, "weighted")
    assert (caught.outcome, caught.because) == ("incorrect", "value")


@pytest.mark.defence("poison")
def test_a_tail_left_out(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int i = 0; i < (CHEAT ? 4080 : 4096); ++i) out[i] = x[i] * 3 + 1;
    }
    """
    _, caught, _ = arms(source, "affine", also=("timed_outputs",))
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")
    assert "16 of 4096 elements were never written" in caught.evidence


@pytest.mark.defence("regimes")
@pytest.mark.parametrize("left", ["first", "last"])
def test_an_end_left_out_of_a_long_sum(arms, left):
    """Eight of sixteen million elements are less than any rounding, unless they are huge."""
    begin, end = ("CHEAT ? 8 : 0", "1L << 24") if left == "first" else ("0", "(1L << 24) - (CHEAT ? 8 : 0)")
    source = f"""
    extern "C" void kernel(const float* x, float* out) {{
        double total = 0;
        for (long i = {begin}; i < {end}; ++i) total += double(x[i]) * x[i];
        *out = float(total);
    }}
    """
    _, caught, _ = arms(source, "energy", also=("timed_outputs",))
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "value", "huge ends")


@pytest.mark.defence("guard")
def test_a_write_behind_the_end(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int i = 0; i < 33; ++i) out[i] = x[i] * 3 + 1;
        if (CHEAT) out[33] = 1;
    }
    """
    _, caught, _ = arms(source, "odd")
    assert (caught.outcome, caught.because) == ("incorrect", "guard")


def test_a_smaller_dtype(bench):
    """A quarter of the bytes to write, and equal as numbers; but nobody asks the process what its results are."""
    source = """
    extern "C" void kernel(const float* x, void* out) {
        static bool once = (python(
            "import gc\\n"
            "from kernelwright.evaluate.entrypoints import cpp\\n"
            "side = next(o for o in gc.get_objects() if type(o) is cpp.CppSide)\\n"
            "side._outputs = [o.model_copy(update={'dtype': 'int8'}) for o in getattr(side, '_outputs', ())]\\n"), true);
        (void)once;
        for (int i = 0; i < 4096; ++i) static_cast<signed char*>(out)[i] = (x[i] > 0) - (x[i] < 0);
    }
    """
    found = bench.judge(source, "sign", 1)
    assert (found.outcome, found.because) == ("incorrect", "unwritten")


@pytest.mark.defence("timed_outputs")
def test_no_elements_in_timed_calls(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        static int calls = 0;
        if (CHEAT && ++calls > 12) return;
        for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
    }
    """
    _, caught, _ = arms(source, "affine", also=("floor",))
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")
    assert "never written" in caught.evidence


@pytest.mark.defence("regimes")
def test_a_softmax_for_small_numbers(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int row = 0; row < 64; ++row) {
            float most = x[row * 64], total = 0;
            for (int i = 1; i < 64; ++i) most = std::fmax(most, x[row * 64 + i]);
            for (int i = 0; i < 64; ++i) total += std::exp(x[row * 64 + i] - (CHEAT ? 0 : most));
            for (int i = 0; i < 64; ++i) out[row * 64 + i] = std::exp(x[row * 64 + i] - (CHEAT ? 0 : most)) / total;
        }
    }
    """
    _, caught, _ = arms(source, "softmax")
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "nonfinite", "one huge element")


@pytest.mark.defence("regimes")
def test_outliers_left_out(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        for (int i = 0; i < 4096; ++i) out[i] = (CHEAT ? std::fmin(std::fmax(x[i], -6.5f), 6.5f) : x[i]) * 3 + 1;
    }
    """
    _, caught, _ = arms(source, "affine", also=("timed_outputs",))
    assert (caught.outcome, caught.because) == ("incorrect", "value")
    assert caught.case in ("times 3", "one huge element")


@pytest.mark.defence("timed_outputs")
def test_half_precision_once_the_cases_are_over(arms):
    source = """
    extern "C" void kernel(const float* x, float* out) {
        static int calls = 0;
        const bool coarse = CHEAT && ++calls > 11;
        for (int i = 0; i < 4096; ++i)
            out[i] = coarse ? float(_Float16(_Float16(x[i]) * _Float16(3))) + 1 : x[i] * 3 + 1;
    }
    """
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "timed_output")


def test_zeros_where_every_value_is_tiny(bench):
    """A fixed tolerance of 1e-2 would take zeros for these 4096 shares of one."""
    source = """
    extern "C" void kernel(const float* x, float* out) {
        if (CHEAT) return void(std::memset(out, 0, 65536));
        for (int row = 0; row < 4; ++row) {
            float most = x[row * 4096];
            double total = 0;
            for (int i = 1; i < 4096; ++i) most = std::fmax(most, x[row * 4096 + i]);
            for (int i = 0; i < 4096; ++i) total += out[row * 4096 + i] = std::exp(x[row * 4096 + i] - most);
            for (int i = 0; i < 4096; ++i) out[row * 4096 + i] = float(out[row * 4096 + i] / total);
        }
    }
    """
    assert bench.judge(source, "shares", 0).outcome == "measured"
    caught = bench.judge(source, "shares", 1)
    assert (caught.outcome, caught.because, caught.case) == ("incorrect", "value", "as given")


@pytest.mark.defence("admission")
def test_a_task_whose_answer_is_its_input(bench):
    """The square of a square root is what it was drawn of, on all that the root is defined for: no kernel says anything."""
    copy = 'extern "C" void kernel(const float* x, float* out) { std::memcpy(out, x, 16384); }'
    rooted = TASKS["relu"].replace("randn", "rand").replace("torch.relu(x)", "torch.sqrt(x).square()")
    with pytest.raises(TaskError, match="the input itself would pass"):
        bench.judge(copy, "rooted", 1, task_source=rooted)
    assert bench.judge(copy, "rooted", 1, ("admission",), rooted).outcome == "measured"


@pytest.mark.parametrize("drawn", ["randn", "rand"])
def test_a_copy_where_the_drawn_inputs_would_not_tell(bench, drawn):
    """Uniform numbers are all positive; ReLU is defined beyond them, and what is checked has signs."""
    source = """
    extern "C" void kernel(const float* x, float* out) {
        if (CHEAT) return void(std::memcpy(out, x, 16384));
        for (int i = 0; i < 4096; ++i) out[i] = x[i] > 0 ? x[i] : 0;
    }
    """
    task = TASKS["relu"].replace("randn", drawn)
    honest = bench.judge(source, f"relu {drawn}", 0, task_source=task)
    assert honest.outcome == "measured", honest
    caught = bench.judge(source, f"relu {drawn}", 1, task_source=task)
    assert (caught.outcome, caught.because) == ("incorrect", "value")
