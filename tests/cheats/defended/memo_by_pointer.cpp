// defence: fresh_inputs
// task: affine
// expect: incorrect timed_output

#include <map>
#include <vector>
extern "C" void kernel(const float* x, float* out) {
    static std::map<const float*, std::vector<float>> memo;
    auto& known = memo[x];
    if (!CHEAT || known.empty()) {
        known.resize(4096);
        work(x, known.data());
    }
    std::memcpy(out, known.data(), sizeof(float) * 4096);
}
