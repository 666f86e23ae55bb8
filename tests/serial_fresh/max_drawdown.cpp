/* kernelwright
[sizes]
assets = 70
days = 250
[arguments]
px = { shape = ["assets", "days"], values = "positive" }
dd = { shape = ["assets"] }
*/
#include <limits>
void max_drawdown(const float* px, float* dd, int assets, int days) {
  for (int a = 0; a < assets; ++a) {
    float peak = -std::numeric_limits<float>::infinity(), worst = 0;
    for (auto p = px + a * days; p != px + (a + 1) * days; ++p) {
      if (*p > peak) peak = *p;
      const float loss = (peak - *p) / peak;
      worst = loss > worst ? loss : worst;
    }
    dd[a] = worst;
  }
}
