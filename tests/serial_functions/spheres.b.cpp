/* kernelwright
[sizes]
rays = 3000
balls = 40
[arguments]
dir = { shape = ["rays", 3], values = "uniform" }
ball = { shape = ["balls", 4], values = "positive" }
hit = { shape = ["rays"] }
depth = { shape = ["rays"] }
*/
#include <cmath>
struct Vec {
  float x, y, z;
  Vec operator*(float k) const { return Vec{x * k, y * k, z * k}; }
  float dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
};
struct Ball {
  Vec centre;
  float radius;
  bool meets(const Vec &d, float &t) const {
    const float b = d.dot(centre), a = d.dot(d), e = centre.dot(centre) - radius * radius;
    const float disc = b * b - a * e;
    if (disc < 0) return false;
    t = (b - std::sqrt(disc)) / a;
    return t > 0;
  }
};
void trace(int rays, int balls, const float *dir, const float *ball, int *hit, float *depth) {
  for (int i = 0; i < rays; ++i) {
    const Vec d{dir[3 * i], dir[3 * i + 1], dir[3 * i + 2]};
    float closest = 1e30f;
    int which = -1;
    for (int k = 0; k < balls; ++k) {
      const Ball one{Vec{ball[4 * k], ball[4 * k + 1], ball[4 * k + 2]}, 0.2f * ball[4 * k + 3]};
      float t;
      if (one.meets(d, t) && t < closest) {
        closest = t;
        which = k;
      }
    }
    hit[i] = which;
    depth[i] = which < 0 ? 0 : closest;
  }
}
