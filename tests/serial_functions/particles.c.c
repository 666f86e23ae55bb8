/* kernelwright
[sizes]
n = 60000
[arguments]
raw = { shape = ["n", 6], values = "uniform", inout = true }
*/
#define STEPS 10
#define DT 0.05
#define REFLECT(x, v) \
  do { \
    if ((x) < 0.0 || (x) > 1.0) { \
      (x) = (x) < 0.0 ? -(x) : 2.0 - (x); \
      (v) *= -0.9; \
      count++; \
    } \
  } while (0)
struct particle {
  double x, y, z;
  double vx, vy, vz;
};

int simulate(double *raw, int n) {
  struct particle *all = (struct particle *)raw;
  int count = 0;
  for (int i = 0; i < n; i++) {
    struct particle *q = &all[i];
    for (int t = 0; t < STEPS; t++) {
      q->vz -= 9.81 * DT;
      q->x += DT * q->vx;
      q->y += DT * q->vy;
      q->z += DT * q->vz;
      REFLECT(q->x, q->vx);
      REFLECT(q->y, q->vy);
      REFLECT(q->z, q->vz);
    }
  }
  return count;
}
