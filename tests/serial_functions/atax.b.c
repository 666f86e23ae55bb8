/* kernelwright
[sizes]
m = 70
n = 90
[arguments]
mat = { shape = ["m","n"] }
vec = { shape = ["n"] }
res = { shape = ["n"] }
mid = { shape = ["m"] }
*/
void at_a_x(const float *restrict mat,
            const float *restrict vec, float *restrict res,
            float *restrict mid, const int m, const int n)
{
    int row, col;
    float dot;
    for (col = 0; col < n; ++col)
        res[col] = 0.0f;
    for (row = 0; row < m; ++row)
    {
        dot = 0.0f;
        for (col = 0; col < n; ++col)
            dot = dot + mat[row * n + col] * vec[col];
        mid[row] = dot;
        for (col = 0; col < n; ++col)
            res[col] = res[col] + mat[row * n + col] * dot;
    }
}
