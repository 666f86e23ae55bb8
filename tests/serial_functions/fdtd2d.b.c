/* kernelwright
[sizes]
nx = 40
ny = 50
tmax = 5
[arguments]
E1 = { shape = [40, 50], inout = true }
E2 = { shape = [40, 50], inout = true }
H = { shape = [40, 50], inout = true }
pulse = { shape = [5], out = false }
*/
#define NX 40
#define NY 50
#define T 5
void waves(float E1[NX][NY], float E2[NX][NY], float H[NX][NY], float pulse[T])
{
    int time, x, y;
    for (time = 0; time < T; time++)
    {
        for (y = 0; y < NY; y++) E2[0][y] = pulse[time];
        for (x = 1; x < NX; x++)
            for (y = 0; y < NY; y++)
                E2[x][y] = E2[x][y] - 0.5f * (H[x][y] - H[x-1][y]);
        for (x = 0; x < NX; x++)
            for (y = 1; y < NY; y++)
                E1[x][y] = E1[x][y] - 0.5f * (H[x][y] - H[x][y-1]);
        for (x = 0; x < NX - 1; x++)
            for (y = 0; y < NY - 1; y++)
                H[x][y] = H[x][y] - 0.7f * (E1[x][y+1] - E1[x][y] + E2[x+1][y] - E2[x][y]);
    }
}
