/* kernelwright
[sizes]
n = 3000
m = 24
[arguments]
px = { shape = ["n"] }
py = { shape = ["n"] }
vx = { shape = ["m"] }
vy = { shape = ["m"] }
inside = { shape = ["n"] }
*/
struct Poly { const float* x; const float* y; int m; };
static bool contains(const Poly& p, float a, float b) {
  bool in = false;
  for (int i = 0, j = p.m - 1; i < p.m; j = i++)
    if (((p.y[i] > b) != (p.y[j] > b)) && (a < (p.x[j] - p.x[i]) * (b - p.y[i]) / (p.y[j] - p.y[i]) + p.x[i])) in = !in;
  return in;
}
void point_in_poly(const float* px, const float* py, const float* vx, const float* vy, int* inside, int n, int m) {
  Poly poly{vx, vy, m};
  for (int k = 0; k < n; ++k) inside[k] = contains(poly, px[k], py[k]);
}
