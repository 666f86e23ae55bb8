/* kernelwright
[sizes]
n = 90
[arguments]
lower = { shape = ["n","n"], values = "uniform" }
rhs = { shape = ["n"] }
sol = { shape = ["n"] }
*/
void forward(const float *lower, const float *rhs, float *sol, int n)
{
    int row, col;
    for (row = 0; row < n; row++)
    {
        sol[row] = rhs[row];
        for (col = 0; col < row; col++)
            sol[row] = sol[row] - lower[row * n + col] * sol[col];
        sol[row] = sol[row] / (lower[row * n + row] + 50.0f);
    }
}
