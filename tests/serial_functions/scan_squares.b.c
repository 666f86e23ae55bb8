/* kernelwright
[sizes]
n = 5000
[arguments]
given = { shape = ["n"], values = "uniform" }
before = { shape = ["n"] }
*/
void exclusive(const float *given, float *before, int n)
{
    int k;
    before[0] = 0.0f;
    for (k = 1; k < n; k++)
        before[k] = before[k - 1] + given[k - 1] * given[k - 1];
}
