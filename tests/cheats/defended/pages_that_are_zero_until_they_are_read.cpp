// Zeros need not be written where the kernel gives new pages; whoever reads them would pay for that.
// task: padded
// lane: matrix
// expect: suspect tampering
// says: pages of its results

#include <sys/mman.h>
extern "C" void kernel(const float* x, float* out) {
    char* begin = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(out) + 4095) & ~4095ul);
    char* end = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(out + 65536) & ~4095ul);
    std::memset(out, 0, 65536 * 4);
    if (CHEAT) madvise(begin, size_t(end - begin), MADV_DONTNEED);
    for (int i = 0; i < 4096; ++i) out[i] = x[i];
}
