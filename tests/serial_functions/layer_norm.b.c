/* kernelwright
[sizes]
tokens = 1500
width = 384
[arguments]
in = { shape = ["tokens", "width"] }
gain = { shape = ["width"] }
bias = { shape = ["width"] }
out = { shape = ["tokens", "width"] }
mu = { shape = ["tokens"] }
inv = { shape = ["tokens"] }
*/
#include <math.h>
/* Welford's mean and variance in one pass */
void normalise(const float *in, const float *gain, const float *bias, float *out, float *mu, float *inv,
               int tokens, int width) {
  int left = tokens;
  while (left--) {
    double centre = 0.0, spread = 0.0;
    int seen = 0;
    const float *p = in;
    while (seen < width) {
      const double away = *p - centre;
      seen++;
      centre += away / seen;
      spread += away * (*p++ - centre);
    }
    const double factor = 1.0 / sqrt(spread / width + 1e-5);
    const float *g = gain, *b = bias;
    do *out++ = (float)((*in++ - centre) * factor) * *g++ + *b++;
    while (in < p);
    *mu++ = (float)centre;
    *inv++ = (float)factor;
  }
}
