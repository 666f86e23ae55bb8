"""What a candidate's process is given. Cheats that look for the answer are in `defended`."""


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
    lines = bench.judge(source, "affine").log.splitlines()
    names = {line.split("=")[0].removeprefix("variable ") for line in lines if line.startswith("variable")}
    files = {line.split()[1].split("[")[0] for line in lines if line.startswith("descriptor")}
    assert names - {"TRITON_CACHE_DIR"} == {"HOME", "TMPDIR", "PATH", "LOGNAME"}
    assert files == {"/dev/null", "/memfd:log", "socket:", "/memfd:arena", "/memfd:kernel.so"}
    assert sum("socket:" in line for line in lines) == 1
