/* kernelwright
[sizes]
nodes = 180
[arguments]
path = { shape = ["nodes * nodes"], values = "positive", inout = true }
*/
void shortest(float *path, int nodes) {
  int via = 0;
  while (via < nodes) {
    const float *through = path + via * nodes;
    float *row = path;
    for (int from = nodes; from; --from) {
      const float first = row[via];
      float *cell = row;
      const float *second = through;
      do {
        const float longer = first + *second++;
        *cell = longer < *cell ? longer : *cell;
      } while (++cell != row + nodes);
      row += nodes;
    }
    ++via;
  }
}
