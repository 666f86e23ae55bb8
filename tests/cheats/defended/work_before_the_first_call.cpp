// defence: whole_cost
// task: affine
// lane: matrix, quiet
// expect: suspect hidden_work
// says: processor time

#include <ctime>
static double table[4096];
__attribute__((constructor)) static void prepare() {
#if CHEAT
    while (clock() < 3 * CLOCKS_PER_SEC)
#endif
        for (int i = 0; i < 4096; ++i) table[i] += std::sin(double(i));
}
extern "C" void kernel(const float* x, float* out) { work(x, out); }
