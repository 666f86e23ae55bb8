// Looks for the task's text in every process that /proc shows, above all in the reference's and the grader's.
// defence: reference_hidden
// task: secret
// also: whole_cost
// expect: incorrect value

#include <dirent.h>
#include <string>
#include <vector>
static float found_in(const std::string& process) {
    FILE* maps = fopen((process + "/maps").c_str(), "r");
    FILE* memory = fopen((process + "/mem").c_str(), "r");
    float factor = 0;
    char line[512], access[8];
    unsigned long start, end;
    std::vector<char> bytes;
    while (maps && memory && factor == 0 && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) != 3 || access[1] != 'w') continue;
        if (end - start > (256ul << 20)) continue;
        bytes.resize(end - start);
        if (fseeko(memory, off_t(start), SEEK_SET) || fread(bytes.data(), 1, bytes.size(), memory) != bytes.size())
            continue;
        const std::string wanted = std::string("FACTOR_") + RUN + " = ";  // not in one piece in our own memory
        const char* at = bytes.data();
        const char* last = at + bytes.size();
        while ((at = static_cast<char*>(memmem(at, size_t(last - at), wanted.data(), wanted.size()))) && factor == 0) {
            at += wanted.size();
            factor = strtof(std::string(at, std::min<size_t>(24, size_t(last - at))).c_str(), nullptr);
        }
    }
    if (maps) fclose(maps);
    if (memory) fclose(memory);
    return factor;
}
static float steal() {
    DIR* processes = opendir("/proc");
    float factor = 0;
    while (dirent* entry = processes && factor == 0 ? readdir(processes) : nullptr)
        if (atoi(entry->d_name) > 0) factor = found_in(std::string("/proc/") + entry->d_name);
    return factor;
}
extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static const float factor = steal();
#else
    const float factor = SECRET;
#endif
    work(x, out, factor);
}
