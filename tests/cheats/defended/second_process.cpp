// defence: no_processes
// task: affine
// expect: incorrect unwritten

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
