// As a graph of launches is kept for known contents, with the pointers of its recording in it.
// defence: new_storage
// task: affine
// also: new_values
// effort: final
// expect: incorrect stale
// case: probe: new_storage

#include <map>
#include <vector>
extern "C" void kernel(const float* x, float* out) {
    static std::map<std::vector<float>, const float*> recordings;
    const auto recorded = recordings.emplace(std::vector<float>(x, x + 4096), x).first->second;
    work(CHEAT ? recorded : x, out);
}
