/* kernelwright
[sizes]
n = 3000
[arguments]
data = { shape = ["n"] }
result = { shape = [1] }
*/
#include <stdbool.h>
int below(const float *data, int n)
{
    int yes = 0;
    int k;
    for (k = 0; k < n; ++k)
    {
        if (data[k] < -3.0f)
            yes = 1;
    }
    return yes;
}
