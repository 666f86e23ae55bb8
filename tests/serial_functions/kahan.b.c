/* kernelwright
[sizes]
len = 1000000
[arguments]
left = { shape = ["len"], values = "uniform" }
right = { shape = ["len"], values = "uniform" }
out = { shape = [1] }
*/
#include <math.h>
/* Neumaier's order: what is lost is collected apart and added at the end */
void careful_product(const float *left, const float *right, float *out, long len) {
  const float *stop = left + len;
  float total = 0, lost = 0;
  do {
    const float one = *left++ * *right++;
    const float both = total + one;
    if (fabsf(total) >= fabsf(one))
      lost += (total - both) + one;
    else
      lost += (one - both) + total;
    total = both;
  } while (left != stop);
  *out = total + lost;
}
