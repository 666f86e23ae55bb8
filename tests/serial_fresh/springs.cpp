/* kernelwright
[sizes]
m = 400
[arguments]
x = { shape = ["m", 2], inout = true }
v = { shape = ["m", 2], inout = true }
*/
#include <cmath>
#include <vector>
struct V2 { float x, y; };
static V2 operator-(V2 a, V2 b) { return {a.x - b.x, a.y - b.y}; }
static float len(const V2& a) { return std::sqrt(a.x * a.x + a.y * a.y); }
// springs between successive masses; forces first, then everybody moves
void springs(float* x, float* v, int m) {
  std::vector<float> force(2 * m, 0.0f);
  for (int i = 0; i < m; ++i) {
    for (int side = -1; side <= 1; side += 2) {
      const int j = i + side;
      if (j < 0 || j >= m) continue;
      V2 d = V2{x[2 * j], x[2 * j + 1]} - V2{x[2 * i], x[2 * i + 1]};
      float l = len(d) + 1e-3f;
      float f = 3.0f * (l - 1.0f) / l;
      force[2 * i] += f * d.x;
      force[2 * i + 1] += f * d.y;
    }
  }
  for (int i = 0; i < 2 * m; ++i) {
    v[i] = 0.99f * v[i] + 0.01f * force[i];
    x[i] += 0.01f * v[i];
  }
}
