#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

// Runs Python in the interpreter that called us: the candidate owns its whole process. A cheat that fails is no honest kernel.
[[maybe_unused]] static void python(const char* code) {
    auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    auto run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
    auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    const int state = ensure();
    const int failed = run(code);
    release(state);
    if (failed) std::abort();
}

// What the task `affine` asks for.
[[maybe_unused]] static void work(const float* x, float* out, float factor = 3) {
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * factor + 1;
}

// The same, and long enough that a share of it shows.
[[maybe_unused]] static void hard_work(const float* x, float* out) {
    for (int repeat = 0; repeat < 1500; ++repeat) {
        work(x, out);
        asm volatile("" ::: "memory");
    }
}

[[maybe_unused]] static float widened(std::uint16_t b) {
    std::uint32_t u = std::uint32_t(b) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
}

[[maybe_unused]] static std::uint16_t narrowed(float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, 4);
    return std::uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
