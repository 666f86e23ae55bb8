/* kernelwright
[sizes]
n = 3000
[arguments]
ps = { shape = ["n", 4], inout = true }
*/
struct Particle { float x, y, vx, vy; };
void aos_move(Particle* ps, int n) {
  for (int i = 0; i < n; ++i) {
    Particle& p = ps[i];
    p.x += 0.1f * p.vx;
    p.y += 0.1f * p.vy;
    if (p.x < 0 || p.x > 1) p.vx = -p.vx;
    if (p.y < 0 || p.y > 1) p.vy = -p.vy;
  }
}
