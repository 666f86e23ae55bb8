/* kernelwright
[sizes]
queries = 400
points = 600
[arguments]
qx = { shape = ["queries"] }
qy = { shape = ["queries"] }
px = { shape = ["points"] }
py = { shape = ["points"] }
which = { shape = ["queries"] }
far = { shape = ["queries"] }
*/
#include <cmath>
#include <limits>
#include <utility>
struct Point {
  float x, y;
  Point operator-(const Point &o) const { return {x - o.x, y - o.y}; }
  float norm2() const { return x * x + y * y; }
};
static std::pair<int, float> search(const Point &q, const float *px, const float *py, int points) {
  int where = -1;
  auto best = std::numeric_limits<float>::max();
  for (int j = 0; j < points; ++j) {
    const Point p{px[j], py[j]};
    if (const float d = (q - p).norm2(); d < best) best = d, where = j;
  }
  return {where, best};
}
void nearest(int queries, int points, const float *qx, const float *qy, const float *px, const float *py, int *which, float *far) {
  for (int i = 0; i < queries; ++i) {
    auto found = search(Point{qx[i], qy[i]}, px, py, points);
    which[i] = found.first;
    far[i] = std::sqrt(found.second);
  }
}
