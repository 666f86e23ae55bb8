/* kernelwright
[sizes]
faces = 4000
verts = 900
[arguments]
idx = { shape = ["faces", 3], values = "index", bound = "verts" }
pos = { shape = ["verts", 3] }
normal = { shape = ["faces", 3] }
area = { shape = [1] }
*/
#include <cmath>
struct Vec3 {
  float x, y, z;
};
static inline Vec3 load(const float* p, int i) { return {p[3 * i], p[3 * i + 1], p[3 * i + 2]}; }
static inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline Vec3 sub(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
void tri_area(const int* idx, const float* pos, float* normal, float* area, int faces, int verts) {
  double total = 0;
  for (int f = 0; f < faces; ++f) {
    const Vec3 a = load(pos, idx[3 * f]), b = load(pos, idx[3 * f + 1]), c = load(pos, idx[3 * f + 2]);
    const Vec3 n = cross(sub(b, a), sub(c, a));
    const float l = std::sqrt(n.x * n.x + n.y * n.y + n.z * n.z);
    total += 0.5 * l;
    const float inv = l > 1e-12f ? 1.0f / l : 0.0f;
    normal[3 * f] = n.x * inv;
    normal[3 * f + 1] = n.y * inv;
    normal[3 * f + 2] = n.z * inv;
  }
  *area = total;
}
