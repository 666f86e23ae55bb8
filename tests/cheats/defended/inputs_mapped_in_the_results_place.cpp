// A copy that is none: pages of the inputs' file, where an input and a result begin alike in their pages.
// defence: own_memory
// task: halves
// also: fresh_inputs, floor
// lane: matrix
// expect: incorrect unwritten

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
