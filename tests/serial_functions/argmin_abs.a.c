/* kernelwright
[sizes]
n = 4000
[arguments]
x = { shape = ["n"] }
at = { shape = [1] }
*/
#include <math.h>
void closest(const float *x, int *at, int n) {
  float best = fabsf(x[0] - 0.5f);
  int k = 0;
  for (int i = 1; i < n; i++) {
    float d = fabsf(x[i] - 0.5f);
    if (d < best) {
      best = d;
      k = i;
    }
  }
  *at = k;
}
