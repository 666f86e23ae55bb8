/* kernelwright
description = "The squared distance from every point to the nearest of another set."
family = "geometry"
difficulty = "medium"

[sizes]
queries = 4096
points = 4096
[workloads]
small = { queries = 512, points = 1024 }
[arguments]
query = { shape = ["queries", 3] }
point = { shape = ["points", 3] }
out = { shape = ["queries"] }
*/
void nearest(const float* query, const float* point, float* out, long queries, long points) {
  for (long i = 0; i < queries; ++i) {
    float least = 3.0e38f;
    for (long j = 0; j < points; ++j) {
      const float dx = point[3 * j] - query[3 * i], dy = point[3 * j + 1] - query[3 * i + 1];
      const float dz = point[3 * j + 2] - query[3 * i + 2], square = dx * dx + dy * dy + dz * dz;
      least = square < least ? square : least;
    }
    out[i] = least;
  }
}
