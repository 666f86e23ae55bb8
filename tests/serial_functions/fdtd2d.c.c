/* kernelwright
[sizes]
nx = 40
ny = 50
tmax = 5
[arguments]
f_ex = { shape = ["nx","ny"], inout = true }
f_ey = { shape = ["nx","ny"], inout = true }
f_hz = { shape = ["nx","ny"], inout = true }
f_nx = { value = "nx" }
f_ny = { value = "ny" }
src = { shape = ["tmax"], out = false }
*/
struct field { float *ex, *ey, *hz; int nx, ny; };
#define AT(p, i, j) (p)[(i) * f->ny + (j)]
void advance(struct field *f, float *src, int tmax) {
  for (int t = 0; t < tmax; t++) {
    int i, j;
    for (j = 0; j < f->ny; j++) AT(f->ey, 0, j) = src[t];
    for (i = 1; i < f->nx; i++)
      for (j = 0; j < f->ny; j++) AT(f->ey, i, j) -= 0.5f * (AT(f->hz, i, j) - AT(f->hz, i - 1, j));
    for (i = 0; i < f->nx; i++)
      for (j = 1; j < f->ny; j++) AT(f->ex, i, j) -= 0.5f * (AT(f->hz, i, j) - AT(f->hz, i, j - 1));
    for (i = 0; i < f->nx - 1; i++)
      for (j = 0; j < f->ny - 1; j++)
        AT(f->hz, i, j) -= 0.7f * (AT(f->ex, i, j + 1) - AT(f->ex, i, j) + AT(f->ey, i + 1, j) - AT(f->ey, i, j));
  }
}
