/* kernelwright
[sizes]
n = 4000
bins = 32
[arguments]
values = { shape = ["n"], values = "uniform" }
counts = { shape = ["bins"] }
*/
void bucket(const float *values, int *counts, long n, long bins)
{
    long i;
    for (i = 0; i < bins; ++i) counts[i] = 0;
    for (i = 0; i < n; ++i)
    {
        long where = (long) (values[i] * (float) bins);
        where = where < bins ? where : bins - 1;
        counts[where] = counts[where] + 1;
    }
}
