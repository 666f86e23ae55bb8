/* kernelwright
[sizes]
nx = 40
ny = 50
tmax = 5
[arguments]
ex = { shape = ["nx","ny"], inout = true }
ey = { shape = ["nx","ny"], inout = true }
hz = { shape = ["nx","ny"], inout = true }
src = { shape = ["tmax"] }
*/
void fdtd(int tmax, int nx, int ny, float *ex, float *ey, float *hz, const float *src) {
  for (int t = 0; t < tmax; t++) {
    for (int j = 0; j < ny; j++) ey[j] = src[t];
    for (int i = 1; i < nx; i++)
      for (int j = 0; j < ny; j++) ey[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
    for (int i = 0; i < nx; i++)
      for (int j = 1; j < ny; j++) ex[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
    for (int i = 0; i < nx - 1; i++)
      for (int j = 0; j < ny - 1; j++)
        hz[i * ny + j] -= 0.7f * (ex[i * ny + j + 1] - ex[i * ny + j] + ey[(i + 1) * ny + j] - ey[i * ny + j]);
  }
}
