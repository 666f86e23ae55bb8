/* kernelwright
[sizes]
n = 3000
[arguments]
series = { shape = ["n"] }
low = { shape = ["n"] }
*/
#include <math.h>
#include <float.h>
void lows(const float *series, float *low, int n)
{
    float least = FLT_MAX;
    int t;
    for (t = 0; t < n; ++t)
    {
        least = fminf(least, series[t]);
        low[t] = least;
    }
}
