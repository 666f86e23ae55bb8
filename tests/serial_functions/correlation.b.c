/* kernelwright
[sizes]
m = 60
n = 50
[arguments]
obs = { shape = ["m","n"], inout = true }
avg = { shape = ["n"] }
sd = { shape = ["n"] }
out = { shape = ["n","n"] }
*/
#include <math.h>
static void centre(float *obs, float *avg, float *sd, int m, int n) {
    int r, k;
    for (k = 0; k < n; ++k) {
        float s = 0.0f, q = 0.0f;
        for (r = 0; r < m; ++r) s += obs[r*n + k];
        avg[k] = s / m;
        for (r = 0; r < m; ++r) { float e = obs[r*n + k] - avg[k]; q += e * e; }
        q = sqrtf(q / m);
        if (q <= 0.1f) q = 1.0f;
        sd[k] = q;
    }
    for (r = 0; r < m; ++r)
        for (k = 0; k < n; ++k)
            obs[r*n + k] = (obs[r*n + k] - avg[k]) / (sqrtf((float) m) * sd[k]);
}
void correlate(float *obs, float *avg, float *sd, float *out, int m, int n) {
    int a, b, r;
    centre(obs, avg, sd, m, n);
    for (a = 0; a < n; ++a) {
        out[a*n + a] = 1.0f;
        for (b = a + 1; b < n; ++b) {
            float s = 0.0f;
            for (r = 0; r < m; ++r) s += obs[r*n + a] * obs[r*n + b];
            out[a*n + b] = s;
            out[b*n + a] = s;
        }
    }
}
