/* kernelwright
[sizes]
n = 4000
[arguments]
series = { shape = ["n"] }
*/
#include <math.h>
#include <float.h>
int nearest(const float *series, int n)
{
    float gap = FLT_MAX;
    int which = -1, i;
    for (i = 0; i < n; i++)
        if (gap > fabsf(series[i] - 0.5f))
        {
            which = i;
            gap = fabsf(series[i] - 0.5f);
        }
    return which;
}
