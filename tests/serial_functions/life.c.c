/* kernelwright
[sizes]
h = 40
w = 60
steps = 4
[arguments]
a = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
b = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
*/
#include <string.h>
#define CELL(i, j) a[(i) * w + (j)]
void conway(int *a, int *b, int h, int w, int steps) {
  while (steps-- > 0) {
    int i, j;
    for (i = 1; i < h - 1; i++)
      for (j = 1; j < w - 1; j++) {
        const int n = CELL(i - 1, j - 1) + CELL(i - 1, j) + CELL(i - 1, j + 1) + CELL(i, j - 1) + CELL(i, j + 1) + CELL(i + 1, j - 1) + CELL(i + 1, j) + CELL(i + 1, j + 1);
        switch (n) { case 3: b[i * w + j] = 1; break; case 2: b[i * w + j] = CELL(i, j); break; default: b[i * w + j] = 0; }
      }
    memcpy(a, b, sizeof(int) * h * w);
  }
}
