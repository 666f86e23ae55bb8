/* kernelwright
description = "The acceleration of every body by the gravity of all, softened."
family = "geometry"
difficulty = "medium"

[sizes]
n = 3072
[workloads]
small = { n = 512 }
[arguments]
position = { shape = ["n", 3] }
mass = { shape = ["n"], values = "positive" }
out = { shape = ["n", 3] }
*/
#include <cmath>

void nbody(const float* position, const float* mass, float* out, long n) {
  for (long i = 0; i < n; ++i) {
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (long j = 0; j < n; ++j) {
      const float dx = position[3 * j] - position[3 * i], dy = position[3 * j + 1] - position[3 * i + 1];
      const float dz = position[3 * j + 2] - position[3 * i + 2], square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float pull = mass[j] / (square * std::sqrt(square));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
  }
}
