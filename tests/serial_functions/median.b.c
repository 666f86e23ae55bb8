/* kernelwright
[sizes]
ny = 512
nx = 512
[arguments]
grey = { shape = ["ny", "nx"], values = "index", bound = 256 }
clean = { shape = ["ny", "nx"] }
*/
#include <stdint.h>
#include <string.h>
/* the middle one of nine is that with at most four below it and at most four above */
void despeckle(const uint8_t *grey, uint8_t *clean, int ny, int nx) {
  memcpy(clean, grey, (size_t)ny * nx);
  int i = 1;
  while (i < ny - 1) {
    int j = 1;
    while (j < nx - 1) {
      const uint8_t *corner = grey + (i - 1) * nx + (j - 1);
      uint8_t middle = 0;
      for (int p = 0; p < 9; ++p) {
        uint8_t one = corner[p / 3 * nx + p % 3];
        int below = 0, above = 0;
        for (int q = 0; q < 9; ++q) {
          uint8_t other = corner[q / 3 * nx + q % 3];
          below += other < one;
          above += other > one;
        }
        if (below <= 4 && above <= 4) middle = one;
      }
      clean[i * nx + j] = middle;
      ++j;
    }
    ++i;
  }
}
