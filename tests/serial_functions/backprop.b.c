/* kernelwright
[sizes]
n = 70
h = 30
[arguments]
input = { shape = ["n"] }
lambda = { shape = ["h","n"], inout = true }
err = { shape = ["h"] }
act = { shape = ["h"] }
*/
#include <math.h>
static float squash(float v) { return 1.0f / (1.0f + expf(-v)); }
void train(const float *input, float *lambda, const float *err,
           float *act, int n, int h)
{
    int unit;
    for (unit = 0; unit < h; ++unit)
    {
        float *row = lambda + unit * n;
        float net = 0.0f;
        int k;
        for (k = 0; k < n; ++k)
            net += row[k] * input[k];
        act[unit] = squash(net);
        for (k = 0; k < n; ++k)
            row[k] += 0.3f * err[unit] * input[k];
    }
}
