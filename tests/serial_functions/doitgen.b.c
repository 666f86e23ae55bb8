/* kernelwright
[sizes]
r = 12
q = 14
p = 20
[arguments]
cube = { shape = ["r","q","p"], inout = true }
weights = { shape = ["p","p"] }
*/
void contract(float *cube, const float *weights, int r, int q, int p)
{
    int a, b, c, d;
    for (a = 0; a < r; ++a) {
        for (b = 0; b < q; ++b) {
            float fresh[20];
            for (c = 0; c < p; ++c) {
                float acc = 0.0f;
                for (d = 0; d < p; ++d) { acc += cube[a*q*p + b*p + d] * weights[d*p + c]; }
                fresh[c] = acc;
            }
            for (c = 0; c < p; ++c) { cube[a*q*p + b*p + c] = fresh[c]; }
        }
    }
}
