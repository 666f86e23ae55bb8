/* kernelwright
[sizes]
nnz = 3000
n = 200
[arguments]
r = { shape = ["nnz"], values = "index", bound = "n" }
c = { shape = ["nnz"], values = "index", bound = "n" }
a = { shape = ["nnz"] }
v = { shape = ["n"] }
res = { shape = ["n"] }
*/
void sparse(const int *r, const int *c, const float *a,
            const float *v, float *res, int nnz, int n)
{
    int e;
    for (e = 0; e < nnz; ++e) {
        int into = r[e];
        float term = a[e] * v[c[e]];
        res[into] = res[into] + term;
    }
}
