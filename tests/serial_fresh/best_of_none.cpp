/* kernelwright
[sizes]
n = 20000
[arguments]
w = { shape = ["n"] }
ok = { shape = ["n"], values = "index", bound = 3 }
pick = { shape = [2] }
val = { shape = [2] }
*/
#include <cfloat>
void best_of_none(const float* w, const int* ok, int* pick, float* val, int n) {
  int best = -1, worst = -1;
  float bestv = -FLT_MAX, worstv = FLT_MAX;
  for (int i = 0; i < n; ++i) {
    if (ok[i] == 0) continue;
    if (w[i] > bestv) { bestv = w[i]; best = i; }
    if (w[i] <= worstv) { worstv = w[i]; worst = i; }
  }
  pick[0] = best; pick[1] = worst;
  val[0] = bestv; val[1] = worstv;
}
