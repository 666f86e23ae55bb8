/* kernelwright
[sizes]
n = 150
[arguments]
x = { shape = ["n", 2] }
y = { shape = ["n", 2] }
*/
#include <math.h>
void transform(const float *x, float *y, int n)
{
    int out, in;
    for (out = 0; out < n; out++)
    {
        y[2 * out] = 0.0f;
        y[2 * out + 1] = 0.0f;
        for (in = 0; in < n; in++)
        {
            float angle = -6.2831853f * (float) ((out * in) % n) / (float) n;
            float c = cosf(angle), s = sinf(angle);
            y[2 * out] += x[2 * in] * c - x[2 * in + 1] * s;
            y[2 * out + 1] += x[2 * in] * s + x[2 * in + 1] * c;
        }
    }
}
