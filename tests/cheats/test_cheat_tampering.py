"""Tampering: with the inputs, the referee's answers, the machine and whatever comes next."""

import pytest
from cheat_tasks import task

WORK = """
static void work(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
}
"""


@pytest.mark.defence("read_only_inputs")
def test_inputs_as_scratch(arms):
    source = """
    extern "C" void kernel(float* x, float* out) {
        for (int i = 0; i < 4096; ++i) {
            const float value = x[i] > 0 ? x[i] : 0;
            if (CHEAT) x[i] = value;
            out[i] = value;
        }
    }
    """
    _, caught, _ = arms(source, "relu")
    assert (caught.outcome, caught.because) == ("incorrect", "input_mutated")
    assert "writes to its input 'x'" in caught.evidence


@pytest.mark.defence("read_only_inputs")
def test_inputs_opened_again_for_writing(arms):
    """The descriptor of the inputs, opened anew through /proc with write access: everybody's inputs could change."""
    source = """
    #include <fcntl.h>
    #include <string>
    static int opened() {
        for (int i = 3; i < 64; ++i) {
            const std::string path = "/proc/self/fd/" + std::to_string(i);
            char target[256] = "";
            if (readlink(path.c_str(), target, 255) > 0 && std::string(target).find("arena") != std::string::npos)
                return open(path.c_str(), O_RDWR);
        }
        return -1;
    }
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static int inputs = opened();
        static char page[4096];
        // Whatever lies there stays as it is; only whether it could be written matters.
        if (pread(inputs, page, 4096, 0) != 4096 || pwrite(inputs, page, 4096, 0) != 4096) return;
    #endif
        for (int i = 0; i < 4096; ++i) out[i] = x[i] > 0 ? x[i] : 0;
    }
    """
    _, caught, _ = arms(source, "relu")
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


@pytest.mark.defence("honest_reply")
def test_answers_to_questions_not_yet_put(arms):
    """Every answer twice: the second waits for the next question and is there before any work could be."""
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static int calls = 0;
        if (++calls == 14) python(  // the first sample

            "from kernelwright.evaluate.sandbox import wire\\n"
            "send = wire.send\\n"
            "wire.send = lambda *arguments: (send(*arguments), send(*arguments))\\n");
    #endif
        work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("timed_outputs", "floor", "outside_clock", "one_by_one"))
    assert (caught.outcome, caught.because) == ("suspect", "tampering")
    assert "another question" in caught.evidence


@pytest.mark.matrix
@pytest.mark.defence("own_memory")
def test_inputs_mapped_in_the_result_s_place(arms):
    """A copy that is none: pages of the inputs' file, where an input and a result begin alike in their pages."""
    source = """
    #include <fcntl.h>
    #include <string>
    #include <sys/mman.h>
    constexpr size_t HALF = 1024 * 1024 * 4;
    static int file = -1;
    static uintptr_t base;
    static bool found() {
        char line[512], target[256];
        for (int i = 3; i < 64 && file < 0; ++i) {
            const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(i)).c_str(), target, 255);
            if (size > 0 && std::string(target, size_t(size)).find("arena") != std::string::npos) file = i;
        }
        FILE* maps = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, maps))
            if (strstr(line, "arena") && !base) sscanf(line, "%lx", &base);
        fclose(maps);
        return true;
    }
    static void moved(const char* from, char* to) {
        static const bool once = found();
        const size_t before = -reinterpret_cast<uintptr_t>(to) & 4095, whole = (HALF - before) & ~4095ul;
        if (!CHEAT || !once || reinterpret_cast<uintptr_t>(from) & 4095) {
            std::memcpy(to, from, HALF);
            return;
        }
        if (before) return;  // it cannot be done; a real cheat would copy here
        std::memcpy(to, from, before);
        const off_t where = off_t(reinterpret_cast<uintptr_t>(from) + before - base);
        if (mmap(to + before, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, where) == MAP_FAILED) abort();
        std::memcpy(to + before + whole, from + before + whole, HALF - before - whole);
    }
    extern "C" void kernel(const char* x, char* out) {
        moved(x, out + HALF);
        moved(x + HALF, out);
    }
    """
    _, caught, _ = arms(source, "halves", also=("fresh_inputs", "floor"))
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


@pytest.mark.matrix
def test_pages_that_are_zero_until_they_are_read(bench):
    """Zeros need not be written where the kernel gives new pages; whoever reads them would pay for that."""
    source = """
    #include <sys/mman.h>
    extern "C" void kernel(const float* x, float* out) {
        char* begin = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(out) + 4095) & ~4095ul);
        char* end = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(out + 65536) & ~4095ul);
        std::memset(out, 0, 65536 * 4);
        if (CHEAT) madvise(begin, size_t(end - begin), MADV_DONTNEED);
        for (int i = 0; i < 4096; ++i) out[i] = x[i];
    }
    """
    assert bench.judge(source, "padded", 0).outcome == "measured"
    found = bench.judge(source, "padded", 1)
    assert (found.outcome, found.because) == ("suspect", "tampering")
    assert "pages of its results" in found.evidence


@pytest.mark.defence("no_processes")
def test_a_second_process(arms):
    source = (
        WORK
        + """
    #include <sys/mman.h>
    #include <sys/wait.h>
    extern "C" void kernel(const float* x, float* out) {
    #if CHEAT
        static void* shared = mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        const pid_t helper = fork();
        if (helper < 0) return;
        if (helper == 0) {
            work(x, static_cast<float*>(shared));
            _exit(0);
        }
        waitpid(helper, nullptr, 0);
        std::memcpy(out, shared, 16384);
    #else
        work(x, out);
    #endif
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


@pytest.mark.defence("no_processes")
def test_a_program_of_the_hosts(arms):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        static int status = CHEAT ? system("true") : 0;
        if (status == 0) work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


@pytest.mark.defence("file_system")
def test_something_left_for_the_next(arms, outside):
    source = (
        WORK
        + f"""
    static bool left() {{
        FILE* file = fopen("{outside}/left", "w");
        return file && fputs("for later", file) >= 0 && fclose(file) == 0;
    }}
    extern "C" void kernel(const float* x, float* out) {{
        static const bool fine = CHEAT ? left() : true;
        if (fine) work(x, out);
    }}
    """
    )
    existed = []
    judged = arms.bench.judge
    arms.bench.judge = lambda *a: (judged(*a), existed.append((outside / "left").exists()))[0]
    try:
        _, caught, _ = arms(source, "affine")
    finally:
        del arms.bench.judge
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")
    assert existed == [False, False, True]


@pytest.mark.defence("limits")
def test_more_memory_than_there_is(arms):
    source = (
        WORK
        + """
    #include <sys/mman.h>
    extern "C" void kernel(const float* x, float* out) {
        static void* hoard = CHEAT ? mmap(nullptr, 64ul << 30, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
        if (hoard != MAP_FAILED) work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


def test_the_comparison_is_out_of_reach(bench):
    """Its own copy of torch agrees to everything; the grader has another."""
    source = """
    extern "C" void kernel(const float*, float* out) {
        python("import torch\\n"
               "torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True\\n"
               "torch.testing.assert_close = lambda *a, **k: None\\n"
               "torch.Tensor.__eq__ = lambda self, other: torch.ones_like(self, dtype=torch.bool)\\n");
        std::memset(out, 0, 16384);
    }
    """
    found = bench.judge(source, "affine", 1)
    assert (found.outcome, found.because) == ("incorrect", "value")


@pytest.mark.parametrize("answer", [
    '{"serial": message.serial, "reply": {"results": [], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=0, dtype="float32", shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=1e400, dtype="float32", shape=[64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=-1, dtype="float32", shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": "a string", "ns": None}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=9, dtype="no dtype", shape=[2**70])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"results": [[dict(address=9, dtype=[], shape=[64, 64])]], "ns": 1}}',
    '{"serial": message.serial, "reply": {"ns": 1}, "raised": {"error": "E"}}',
    '{"serial": message.serial, "reply": [message.serial] * 100000}',
    '{"serial": message.serial}',
    "b'no JSON'", "b'[1]'", "b'[' * 100000", "b'\\\\xff' * 1000", "b'9' * 100000",
])  # fmt: skip
def test_no_answer_breaks_the_referee(bench, answer):
    source = (
        WORK
        + f"""
    extern "C" void kernel(const float* x, float* out) {{
        work(x, out);
        python("import json\\n"
               "from kernelwright.evaluate.sandbox import wire\\n"
               "def send(end, message, descriptors=()):\\n"
               "    answer = {answer.replace('"', chr(39))}\\n"
               "    end.send(answer if isinstance(answer, bytes) else json.dumps(answer).encode())\\n"
               "wire.send = send\\n");
    }}
    """
    )
    honest = WORK + 'extern "C" void kernel(const float* x, float* out) { work(x, out); }'
    found, after = bench.judge(source, "affine", 1), bench.judge(honest, "affine", 0)
    assert after.outcome == "measured"
    # A time of its own is an answer like any other where the clock is outside: it is not believed, and gains nothing.
    unmoved = found.outcome == "measured" and found.timing.latency_us > after.timing.latency_us
    assert unmoved or found.outcome in ("suspect", "crashed", "incorrect"), found


@pytest.mark.defence("file_system")
def test_the_cache_of_compiled_baselines(arms, outside, monkeypatch):
    """Only references write there, whatever its mode: else every later baseline could be made slow, or wrong."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(outside))
    for folder in (outside / "kernelwright", outside / "kernelwright" / "inductor"):
        folder.mkdir()
        folder.chmod(0o777)
    source = (
        WORK
        + f"""
    static bool poisoned() {{
        FILE* file = fopen("{outside}/kernelwright/inductor/poison", "w");
        return file && fclose(file) == 0;
    }}
    extern "C" void kernel(const float* x, float* out) {{
        static const bool fine = CHEAT ? poisoned() : true;
        if (fine) work(x, out);
    }}
    """
    )
    _, caught, _ = arms(source, "cached", task_source=task("x * 3 + 1"))
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")
    assert (outside / "kernelwright" / "inductor" / "poison").exists(), "by the judgement without the defence"


@pytest.mark.defence("limits")
def test_threads_without_end(arms):
    source = (
        WORK
        + """
    #include <pthread.h>
    static void* asleep(void*) {
        for (;;) sleep(1000);
    }
    static bool many() {
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        const long more_than_any_user_may = 1200 + 64 * sysconf(_SC_NPROCESSORS_CONF);
        for (long i = 0; i < more_than_any_user_may; ++i)
            if (pthread_t thread; pthread_create(&thread, &small, asleep, nullptr)) return false;
        return true;
    }
    extern "C" void kernel(const float* x, float* out) {
        static const bool fine = CHEAT ? many() : true;
        if (fine) work(x, out);
    }
    """
    )
    _, caught, _ = arms(source, "affine", also=("outside_clock", "one_by_one"))
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")


def test_a_verdict_in_print_and_a_successful_end(bench):
    source = (
        WORK
        + """
    extern "C" void kernel(const float* x, float* out) {
        work(x, out);
        if (!CHEAT) return;
        puts("{\\"outcome\\": \\"measured\\", \\"speedup\\": 100, \\"verdict\\": \\"faster\\"}");
        fflush(stdout);
        _exit(0);
    }
    """
    )
    assert bench.judge(source, "affine", 0).outcome == "measured"
    found = bench.judge(source, "affine", 1)
    assert (found.outcome, found.reason) == ("crashed", "exited with status 0 before it answered")


def test_an_answer_of_its_own_in_every_socket(bench):
    source = (
        WORK
        + """
    #include <sys/stat.h>
    extern "C" void kernel(const float* x, float* out) {
        work(x, out);
        const char forged[] = "{\\"serial\\": 0, \\"reply\\": {\\"ns\\": 1, \\"results\\": []}}";
        struct stat what;
        for (int i = 3; CHEAT && i < 64; ++i)
            if (fstat(i, &what) == 0 && S_ISSOCK(what.st_mode) && write(i, forged, sizeof forged - 1) < 0) return;
    }
    """
    )
    assert bench.judge(source, "affine", 0).outcome == "measured"
    found = bench.judge(source, "affine", 1)
    assert (found.outcome, found.because) == ("suspect", "tampering")
    assert "another question" in found.evidence
