"""Cheating the clock: its readings, and what is done before, after and beside it."""

import time
from pathlib import Path

import pytest

from kernelwright.evaluate.backends.cpu.process import CppCandidateProcess

OUTSIDER = Path(__file__).parent / "outsider"
NOISE, AGAIN = 1.25, 3
"""How many times as fast as its honest twin a cheat may look, and how often one that gained nothing is met."""
WORK = """
static void work(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
}
[[maybe_unused]] static void hard_work(const float* x, float* out) {
    for (int repeat = 0; repeat < 1500; ++repeat) {
        work(x, out);
        asm volatile("" ::: "memory");
    }
}
"""


@pytest.fixture
def slow_reader(monkeypatch):
    """A grader that is late to read results: only the freeze keeps them as they were when the answer came.

    Late by several times what the work of a sample takes, so that a busy machine finishes it too where nothing is frozen.
    """
    run = CppCandidateProcess.run

    def late(self, *arguments, **named):
        ran = run(self, *arguments, **named)
        time.sleep(0.2)
        return ran

    monkeypatch.setattr(CppCandidateProcess, "run", late)


def noticed(arms, source, name, because, **how):
    """Judgements of twin, cheat and cheat without its defence, at the first try that is noticed, or at the last.

    What else runs on the machine may leave a sample one call or a few, in which there is little to see. What is not
    noticed is timed from outside like any other: it must have gained nothing.
    """
    for _ in range(AGAIN):
        twin, caught, through = arms(source, name, **how)
        if caught.outcome == "suspect":
            assert caught.because == because
            break
        assert not gained(caught.timing, twin.timing)
    return twin, caught, through


def gained(cheat, twin):
    """By its time, and by the ratio to eager's: what else runs may slow eager alone, or one of the two kernels."""
    ratios = cheat.against("eager").speedup.low, twin.against("eager").speedup.high
    return ratios[0] >= NOISE * ratios[1] and NOISE * cheat.latency_us <= twin.latency_us


@pytest.mark.defence("outside_clock")
def test_a_clock_that_runs_slow(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = (python("import time\\n"
                                   "real, start = time.perf_counter_ns, time.perf_counter_ns()\\n"
                                   "time.perf_counter_ns = lambda: start + (real() - start) // 8\\n"), true);
        (void)once;
    #endif
        hard_work(x, out);
    }
    """
    )
    honest, caught, through = noticed(arms, source, "affine", "clock_disagrees", also=("one_by_one",))
    assert caught.outcome == "measured" or "its own clock misses" in caught.evidence
    assert through.timing.latency_us < honest.timing.latency_us / 2


DEFERRED = (
    WORK
    + """
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
static std::mutex mutex;
static std::condition_variable changed;
static std::queue<std::pair<const float*, float*>> jobs;
static bool busy = false;
static void serve() {
    for (;;) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [] { return !jobs.empty(); });
        auto [x, out] = jobs.front();
        jobs.pop();
        busy = true;
        lock.unlock();
        hard_work(x, out);
        lock.lock();
        busy = false;
        changed.notify_all();
    }
}
extern "C" void kernel(const float* x, float* out) {
    static std::thread* worker = new std::thread(serve);
    (void)worker;
    std::unique_lock lock(mutex);
    jobs.emplace(x, out);
    changed.notify_all();
#if !CHEAT
    changed.wait(lock, [] { return jobs.empty() && !busy; });
#endif
}
"""
)


@pytest.mark.defence("freeze")
def test_work_left_to_a_thread(arms, slow_reader):
    _, caught, _ = arms(DEFERRED, "affine", also=("one_by_one",))
    assert caught.outcome == "incorrect"
    assert caught.because in ("unwritten", "value", "timed_output", "guard")


@pytest.mark.matrix
@pytest.mark.defence("freeze")
def test_an_answer_before_the_work(arms, slow_reader):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = (python(
            "import ctypes, gc\\n"
            "from kernelwright.evaluate.sandbox import wire\\n"
            "from kernelwright.evaluate.entrypoints import cpp\\n"
            "side = next(o for o in gc.get_objects() if type(o) is cpp.CppSide)\\n"
            "function, send, pending = side._function, wire.send, []\\n"
            "def late(end, message, descriptors=()):\\n"
            "    send(end, message, descriptors)\\n"
            "    for arguments in pending: function(*arguments)\\n"
            "    pending.clear()\\n"
            "side._function = lambda *arguments: pending.append(arguments)\\n"
            "wire.send = late\\n"), true);
        (void)once;
    #endif
        hard_work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("one_by_one",))
    assert caught.outcome == "incorrect"
    assert caught.because in ("unwritten", "value", "timed_output", "guard")


@pytest.mark.defence("freeze")
def test_a_timer_that_wakes_the_frozen(arms):
    source = (
        WORK
        + """
    #include <csignal>
    #include <ctime>
    #include <thread>
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = ([] {
            signal(SIGCONT, [](int) {});  // a timer whose signal is ignored rings once only
            sigevent event{};
            event.sigev_notify = SIGEV_SIGNAL;
            event.sigev_signo = SIGCONT;
            for (int i = 0; i < 32; ++i) {  // a stop may meet a ring on its way, and then that timer is dead
                timer_t timer;
                timer_create(CLOCK_MONOTONIC, &event, &timer);
                const itimerspec often{{0, 300000 + i * 7000}, {0, 300000 + i * 7000}};
                timer_settime(timer, 0, &often, nullptr);
            }
            // Takes a core from whoever is timed next.
            new std::thread([] { for (volatile long i = 0;; i = i + 1) {} });
        }(), true);
        (void)once;
    #endif
        work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("outside_clock", "one_by_one"))
    assert caught.outcome == "suspect"
    # Or it kept its own stop from being seen: then the clock, and the core, were its own all the while.
    assert caught.because == "hidden_work" or "frozen" in caught.evidence or "stopped" in caught.evidence


@pytest.mark.matrix
@pytest.mark.defence("whole_cost")
def test_work_before_the_first_call(arms):
    source = (
        WORK
        + """
    #include <ctime>
    static double table[4096];
    __attribute__((constructor)) static void prepare() {
    #if CHEAT
        while (clock() < 3 * CLOCKS_PER_SEC)
    #endif
            for (int i = 0; i < 4096; ++i) table[i] += std::sin(double(i));
    }
    extern "C" void kernel(const float* x, float* out) { work(x, out); }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("suspect", "hidden_work")
    assert "processor time" in caught.evidence


@pytest.mark.matrix
@pytest.mark.defence("floor")
def test_faster_than_memory(arms):
    """The input is large: waking a process that does nothing takes tens of microseconds a call."""
    source = """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static int calls = 0;
        if (++calls > 12) return;  // the cases are over: one of them has huge ends
    #endif
        double total = 0;
        for (int block = 0; block < 4096; ++block) {
            float part = 0;
    #pragma omp simd reduction(+ : part)
            for (int i = 0; i < 4096; ++i) part += x[block * 4096 + i] * x[block * 4096 + i];
            total += part;
        }
        *out = float(total);
    }
    """
    _, caught, _ = arms(source, "energy", also=("timed_outputs",))
    assert (caught.outcome, caught.because) == ("suspect", "below_floor")
    assert "floor is" in caught.evidence


@pytest.mark.defence("outside_clock")
def test_a_time_that_is_simply_stated(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static bool once = (python(
            "from kernelwright.evaluate.sandbox import wire\\n"
            "send = wire.send\\n"
            "short = lambda ran: ran.model_copy(update={'ns': 1}) if hasattr(ran, 'ns') else ran\\n"
            "wire.send = lambda end, answer, *rest: send(\\n"
            "    end, answer.model_copy(update={'reply': short(answer.reply)}), *rest)"),
            true);
        (void)once;
    #endif
        hard_work(x, out);
    }
    """
    )
    _, _, through = noticed(arms, source, "affine", "clock_disagrees", also=("floor", "one_by_one"))
    assert through.timing.latency_us < 0.01


@pytest.mark.defence("one_by_one")
def test_the_calls_of_a_sample_as_one_batch(arms):
    """It finds the calls of its sample in the function that called it, and reads the weights once for eight of them.

    Weights of its own for every call would make it wrong, so they stay the same here.
    """
    cheat, honest = ((OUTSIDER / f"{name}.cpp").read_text() for name in ("whole_sample", "recurrence_honest"))
    source = f"#if CHEAT\n{cheat}\n#else\n{honest}\n#endif\n".replace(" entry(", " kernel(")
    task = (OUTSIDER / "recurrence.py").read_text()
    _, caught, _ = noticed(arms, source, "recurrence", "batched", task_source=task, also=("random_parameters", "floor"))
    assert caught.outcome == "measured" or "computed together" in caught.evidence
