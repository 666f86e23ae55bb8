/* kernelwright
[sizes]
n = 600
steps = 9
[arguments]
u = { shape = ["n"], inout = true }
v = { shape = ["n"], inout = true }
*/
static void smooth(const float *from, float *to, long count)
{
    long k;
    for (k = 1; k + 1 < count; ++k)
        to[k] = (from[k - 1] + from[k] + from[k + 1]) * 0.33333f;
}
void relax_line(float *u, float *v, long n, long steps)
{
    while (steps > 0) {
        smooth(u, v, n);
        smooth(v, u, n);
        steps--;
    }
}
