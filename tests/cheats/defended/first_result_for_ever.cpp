// task: affine
// expect: incorrect value
// cases: 2

#include <vector>
extern "C" void kernel(const float* x, float* out) {
    static std::vector<float> first;
    if (!CHEAT || first.empty()) {
        first.resize(4096);
        work(x, first.data());
    }
    std::memcpy(out, first.data(), sizeof(float) * 4096);
}
