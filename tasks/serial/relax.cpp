/* kernelwright
description = "One round of shortest paths on a graph with 16 edges a vertex: the least distance over every edge."
family = "graph"
difficulty = "medium"

[sizes]
vertices = 524288
degree = 16
[workloads]
small = { vertices = 32768 }
[arguments]
distance = { shape = ["vertices"], values = "positive" }
neighbour = { shape = ["vertices", "degree"], values = "index", bound = "vertices" }
weight = { shape = ["vertices", "degree"], values = "positive" }
out = { shape = ["vertices"] }
*/
void relax(const float* distance, const int* neighbour, const float* weight, float* out, long vertices, long degree) {
  for (long v = 0; v < vertices; ++v) {
    float least = distance[v];
    for (long e = v * degree; e < (v + 1) * degree; ++e) {
      const float way = distance[neighbour[e]] + weight[e];
      least = way < least ? way : least;
    }
    out[v] = least;
  }
}
