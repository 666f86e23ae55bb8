/* kernelwright
[sizes]
rows = 40
cols = 70
[arguments]
logits = { shape = ["rows","cols"] }
prob = { shape = ["rows","cols"] }
*/
#include <math.h>
static void normalise(const float *in, float *out, int len) {
    float top = -1e30f, total = 0.0f;
    int k;
    for (k = 0; k < len; ++k) top = fmaxf(top, in[k]);
    for (k = 0; k < len; ++k) total += out[k] = expf(in[k] - top);
    for (k = 0; k < len; ++k) out[k] = out[k] / total;
}
void all_rows(const float *logits, float *prob, int rows, int cols) {
    int r = 0;
    do {
        normalise(logits + r * cols, prob + r * cols, cols);
        r++;
    } while (r < rows);
}
