/* kernelwright
[sizes]
count = 3000
len = 96
[arguments]
below = { shape = ["count * len"], values = "uniform" }
middle = { shape = ["count * len"], values = "positive" }
above = { shape = ["count * len"], values = "uniform" }
right = { shape = ["count * len"] }
answer = { shape = ["count * len"] }
*/
/* row by row through all systems, as the sweeps of an alternating direction scheme do; answer is the scratch too */
#include <stdlib.h>
void thomas(const double *below, const double *middle, const double *above, const double *right, double *answer,
            int count, int len) {
  double *factor = malloc(sizeof *factor * count * len);
  int i, s;
  for (s = 0; s < count; ++s) {
    const long p = (long)s * len;
    factor[p] = above[p] / (middle[p] + 2.0);
    answer[p] = right[p] / (middle[p] + 2.0);
  }
  i = 1;
  while (i < len) {
    for (s = 0; s < count; ++s) {
      const long p = (long)s * len + i;
      const double pivot = 1.0 / (middle[p] + 2.0 - below[p] * factor[p - 1]);
      factor[p] = above[p] * pivot;
      answer[p] = (right[p] - below[p] * answer[p - 1]) * pivot;
    }
    ++i;
  }
  i = len - 1;
  while (i-- > 0)
    for (s = 0; s < count; ++s) {
      const long p = (long)s * len + i;
      answer[p] -= factor[p] * answer[p + 1];
    }
  free(factor);
}
