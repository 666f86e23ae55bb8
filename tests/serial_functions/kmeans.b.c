/* kernelwright
[sizes]
n = 900
k = 6
d = 4
[arguments]
points = { shape = ["n","d"] }
centres = { shape = ["k","d"] }
owner = { shape = ["n"] }
total = { shape = ["k","d"] }
members = { shape = ["k"] }
*/
static float distance2(const float *a, const float *b, int d)
{
    float s = 0.0f;
    int e;
    for (e = 0; e < d; ++e) { float x = a[e] - b[e]; s += x * x; }
    return s;
}
void cluster(const float *points, const float *centres, int *owner, float *total, int *members, int n, int k, int d)
{
    int i, j, e;
    for (i = 0; i < n; ++i)
    {
        int who = -1;
        float least = 3.0e38f;
        for (j = 0; j < k; ++j)
        {
            float now = distance2(points + i * d, centres + j * d, d);
            if (now < least) { least = now; who = j; }
        }
        owner[i] = who;
        members[who] += 1;
        for (e = 0; e < d; ++e) total[who * d + e] += points[i * d + e];
    }
}
