/* kernelwright
[sizes]
blocks = 200
[arguments]
x = { shape = ["blocks", 32] }
q = { shape = ["blocks", 32] }
scale = { shape = ["blocks"] }
*/
#include <cmath>
constexpr int B = 32;
void quantise_blocks(const float* __restrict x, int* __restrict q, float* __restrict scale, int blocks) {
  for (int b = 0; b < blocks; ++b) {
    float amax = 0.0f;
    for (int i = 0; i < B; ++i) amax = std::fmax(amax, std::fabs(x[b * B + i]));
    const float d = amax / 127.0f, id = d ? 1.0f / d : 0.0f;
    scale[b] = d;
    for (int i = 0; i < B; ++i) q[b * B + i] = static_cast<int>(std::lround(x[b * B + i] * id));
  }
}
