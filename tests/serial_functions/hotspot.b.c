/* kernelwright
[sizes]
rows = 48
cols = 40
[arguments]
chip = { shape = ["rows","cols"] }
watt = { shape = ["rows","cols"] }
next = { shape = ["rows","cols"] }
*/
void chip_step(const float *chip, const float *watt, float *next, int rows, int cols)
{
    int i, j;
    for (i = 0; i < rows; i++)
    {
        for (j = 0; j < cols; j++)
        {
            const int k = i * cols + j;
            float n, s, w, e;
            if (i > 0) n = chip[k - cols]; else n = chip[k];
            if (i < rows - 1) s = chip[k + cols]; else s = chip[k];
            w = (j > 0) ? chip[k - 1] : chip[k];
            e = (j < cols - 1) ? chip[k + 1] : chip[k];
            next[k] = chip[k] + 0.01f * (watt[k] + 0.1f * (n + s - 2 * chip[k]) + 0.2f * (w + e - 2 * chip[k]) + 0.05f * (80.0f - chip[k]));
        }
    }
}
