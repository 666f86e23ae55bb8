/* kernelwright
[sizes]
T = 40
S = 64
[arguments]
emit = { shape = ["T", "S"], values = "uniform" }
trans = { shape = ["S", "S"], values = "uniform" }
score = { shape = ["S"] }
back = { shape = ["T", "S"] }
tmp = { shape = ["S"] }
*/
void viterbi(const float *emit, const float *trans, float *score, int *back, float *tmp, int T, int S) {
  for (int s = 0; s < S; s++) { score[s] = emit[s]; back[s] = 0; }
  for (int t = 1; t < T; t++) {
    for (int s = 0; s < S; s++) {
      float best = -1e30f;
      int arg = 0;
      for (int p = 0; p < S; p++) {
        float c = score[p] + trans[p * S + s];
        if (c > best) { best = c; arg = p; }
      }
      tmp[s] = best + emit[t * S + s];
      back[t * S + s] = arg;
    }
    for (int s = 0; s < S; s++) score[s] = tmp[s];
  }
}
