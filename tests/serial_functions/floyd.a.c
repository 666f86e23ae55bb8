/* kernelwright
[sizes]
n = 180
[arguments]
dist = { shape = ["n", "n"], values = "positive", inout = true }
*/
void floyd(int n, float dist[n][n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (dist[i][k] + dist[k][j] < dist[i][j]) dist[i][j] = dist[i][k] + dist[k][j];
}
