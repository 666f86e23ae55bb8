// defence: limits
// task: affine
// expect: incorrect unwritten

#include <sys/mman.h>
extern "C" void kernel(const float* x, float* out) {
    static void* hoard = CHEAT ? mmap(nullptr, 64ul << 30, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
    if (hoard != MAP_FAILED) work(x, out);
}
