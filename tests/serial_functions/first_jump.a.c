/* kernelwright
[sizes]
n = 1000000
[arguments]
x = { shape = ["n"] }
limit = { value = 6.3 }
*/
#include <math.h>
int first_jump(const float *x, float limit, int n) {
  for (int i = 1; i < n; i++) {
    if (fabsf(x[i] - x[i - 1]) > limit) return i;
  }
  return -1;
}
