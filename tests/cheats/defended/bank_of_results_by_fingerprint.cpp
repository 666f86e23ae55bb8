// defence: fresh_inputs
// task: affine
// expect: incorrect timed_output

#include <map>
#include <vector>
extern "C" void kernel(const float* x, float* out) {
    static std::map<unsigned, std::vector<float>> bank;
    static int calls = 0;
    unsigned fingerprint = 0;
    for (int i = 0; i < 6; ++i) fingerprint = fingerprint * 2 + (x[i * 600] > 0);
    if (!CHEAT || ++calls <= 24) return work(x, out);
    auto& known = bank[fingerprint];
    if (known.empty()) {
        known.resize(4096);
        work(x, known.data());
    }
    std::memcpy(out, known.data(), sizeof(float) * 4096);
}
