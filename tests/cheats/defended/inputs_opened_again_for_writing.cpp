// The descriptor of the inputs, opened anew through /proc with write access: everybody's inputs could change.
// defence: read_only_inputs
// task: relu
// expect: incorrect unwritten

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
