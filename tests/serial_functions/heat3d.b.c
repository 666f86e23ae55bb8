/* kernelwright
[sizes]
side = 64
rounds = 8
[arguments]
u = { shape = ["side * side * side"], inout = true }
v = { shape = ["side * side * side"], inout = true }
*/
/* two sweeps of the other spelling are two rounds here, and the buffers change places after each */
void diffuse(double *u, double *v, int side, int rounds) {
  const int plane = side * side;
  double *now = u, *next = v;
  int round = 0;
  while (round < rounds) {
    for (int z = side - 2; z >= 1; z--) {
      for (int y = side - 2; y >= 1; y--) {
        const double *p = now + z * plane + y * side + 1;
        double *q = next + z * plane + y * side + 1;
        int left = side - 2;
        do {
          *q++ = *p + 0.1 * (p[plane] + p[-plane] + p[side] + p[-side] + p[1] + p[-1] - 6.0 * *p);
          p++;
        } while (--left);
      }
    }
    double *hold = now;
    now = next;
    next = hold;
    round++;
  }
}
