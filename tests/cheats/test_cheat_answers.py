"""Reading the answer instead of working it out: from files, from the network, from another process."""

import contextlib
import os
import random
import secrets
import socket
import threading

import pytest
from cheat_tasks import task

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
"""Of all processes of this run: one of them may hold the task's text for another, and other runs hold another text."""
SECRET, NAME = random.Random(RUN).uniform(2, 3), f"FACTOR_{RUN[:8]}"
"""A constant of the task's, and what it is called; a kernel is right only if it knows it."""
GUESS = """
static void work(const float* x, float* out, float factor) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * factor + 1;
}
"""
TASK = task(f"x * {NAME} + 1", extra=f"{NAME} = {SECRET!r}  # the secret number of this task")


@pytest.mark.defence("reference_hidden")
def test_the_memory_of_other_processes(arms):
    """Looks for the task's text in every process that /proc shows, above all in the reference's and the grader's."""
    source = (
        GUESS
        + f"""
    #include <dirent.h>
    #include <string>
    #include <vector>
    static float found_in(const std::string& process) {{
        FILE* maps = fopen((process + "/maps").c_str(), "r");
        FILE* memory = fopen((process + "/mem").c_str(), "r");
        float factor = 0;
        char line[512], access[8];
        unsigned long start, end;
        std::vector<char> bytes;
        while (maps && memory && factor == 0 && fgets(line, sizeof line, maps)) {{
            if (sscanf(line, "%lx-%lx %7s", &start, &end, access) != 3 || access[1] != 'w') continue;
            if (end - start > (256ul << 20)) continue;
            bytes.resize(end - start);
            if (fseeko(memory, off_t(start), SEEK_SET) || fread(bytes.data(), 1, bytes.size(), memory) != bytes.size())
                continue;
            const std::string wanted = std::string("FACTOR_") + "{RUN[:8]} = ";  // not in one piece in our own memory
            const char* at = bytes.data();
            const char* last = at + bytes.size();
            while ((at = static_cast<char*>(memmem(at, size_t(last - at), wanted.data(), wanted.size()))) && factor == 0) {{
                at += wanted.size();
                factor = strtof(std::string(at, std::min<size_t>(24, size_t(last - at))).c_str(), nullptr);
            }}
        }}
        if (maps) fclose(maps);
        if (memory) fclose(memory);
        return factor;
    }}
    static float steal() {{
        DIR* processes = opendir("/proc");
        float factor = 0;
        while (dirent* entry = processes && factor == 0 ? readdir(processes) : nullptr)
            if (atoi(entry->d_name) > 0) factor = found_in(std::string("/proc/") + entry->d_name);
        return factor;
    }}
    extern "C" void kernel(const float* x, float* out) {{
    #if CHEAT
        static const float factor = steal();
    #else
        const float factor = {SECRET!r};
    #endif
        work(x, out, factor);
    }}
    """
    )
    _, caught, _ = arms(source, "secret", task_source=TASK, also=("whole_cost",))
    assert (caught.outcome, caught.because) == ("incorrect", "value")


@pytest.mark.defence("file_system")
def test_a_file_with_the_answer(arms, outside):
    (outside / "answer").write_text(repr(SECRET))
    source = (
        GUESS
        + f"""
    extern "C" void kernel(const float* x, float* out) {{
        float factor = 0;
    #if CHEAT
        if (FILE* file = fopen("{outside}/answer", "r")) {{
            if (fscanf(file, "%f", &factor) != 1) factor = 0;
            fclose(file);
        }}
    #else
        factor = {SECRET!r};
    #endif
        work(x, out, factor);
    }}
    """
    )
    _, caught, _ = arms(source, "secret", task_source=TASK)
    assert (caught.outcome, caught.because) == ("incorrect", "value")


@pytest.fixture
def accomplice():
    """Tells the answer to whoever connects; its port, and how often it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                asked.append(1)
                with connection:
                    connection.sendall(repr(SECRET).encode())

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1], asked
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.defence("network")
def test_an_accomplice_on_the_network(arms, accomplice):
    port, asked = accomplice
    source = (
        GUESS
        + f"""
    #include <arpa/inet.h>
    #include <sys/socket.h>
    static float ask() {{
        const int end = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in where{{AF_INET, htons({port}), {{htonl(INADDR_LOOPBACK)}}, {{}}}};
        char answer[32] = "0";
        if (connect(end, reinterpret_cast<sockaddr*>(&where), sizeof where) || read(end, answer, 31) < 1) return 0;
        return strtof(answer, nullptr);
    }}
    extern "C" void kernel(const float* x, float* out) {{
    #if CHEAT
        static const float factor = ask();
    #else
        const float factor = {SECRET!r};
    #endif
        work(x, out, factor);
    }}
    """
    )
    _, caught, _ = arms(source, "secret", task_source=TASK)
    assert (caught.outcome, caught.because) == ("incorrect", "value")
    assert len(asked) == 1, "asked once, by the judgement without the defence"


def test_nothing_was_inherited(bench):
    """No key of the user's in its environment, no file of anybody's but its own, its log and its inputs."""
    source = """
    #include <string>
    extern char** environ;
    extern "C" void kernel(const float*, float*) {
        for (char** entry = environ; *entry; ++entry) fprintf(stderr, "variable %s\\n", *entry);
        for (int i = 0; i < 1024; ++i) {
            char target[256];
            const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(i)).c_str(), target, 255);
            if (size > 0) fprintf(stderr, "descriptor %.*s\\n", int(size), target);
        }
        abort();
    }
    """
    found = bench.judge(source, "affine", 1)
    lines = found.log.splitlines()
    names = {line.split("=")[0].removeprefix("variable ") for line in lines if line.startswith("variable")}
    files = {line.split()[1].split("[")[0] for line in lines if line.startswith("descriptor")}
    assert names - {"TRITON_CACHE_DIR"} == {"HOME", "TMPDIR", "PATH", "LOGNAME"}
    assert files == {"/dev/null", "/memfd:log", "socket:", "/memfd:arena", "/memfd:kernel.so"}
    assert sum("socket:" in line for line in lines) == 1


@pytest.mark.defence("reference_hidden")
def test_a_door_into_another_process(arms):
    """Opens the memory of any other process for writing: expected results, tolerances and counters would be its own."""
    source = (
        GUESS
        + """
    #include <dirent.h>
    #include <fcntl.h>
    #include <string>
    static bool opened() {
        DIR* processes = opendir("/proc");
        while (dirent* entry = processes ? readdir(processes) : nullptr) {
            if (atoi(entry->d_name) <= 0 || atoi(entry->d_name) == getpid()) continue;
            if (open(("/proc/" + std::string(entry->d_name) + "/mem").c_str(), O_RDWR) >= 0) return true;
        }
        return false;
    }
    extern "C" void kernel(const float* x, float* out) {
        static const bool open = CHEAT ? opened() : true;
        if (open) work(x, out, 3);
    }
    """
    )
    _, caught, _ = arms(source, "affine")
    assert (caught.outcome, caught.because) == ("incorrect", "unwritten")
