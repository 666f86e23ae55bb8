/* kernelwright
[sizes]
walkers = 500
steps = 50
[arguments]
seed = { shape = ["walkers"] }
x = { shape = ["walkers"] }
y = { shape = ["walkers"] }
*/
#include <stdint.h>
void random_walk(const int *seed, int *x, int *y, int walkers, int steps) {
  for (int w = 0; w < walkers; w++) {
    uint32_t s = (uint32_t)seed[w] * 2654435761u + 1u;
    int px = 0, py = 0;
    for (int t = 0; t < steps; t++) {
      s ^= s << 13; s ^= s >> 17; s ^= s << 5;
      switch (s & 3u) {
        case 0: px++; break;
        case 1: px--; break;
        case 2: py++; break;
        default: py--; break;
      }
    }
    x[w] = px; y[w] = py;
  }
}
