/* kernelwright
[sizes]
n = 160
k = 90
[arguments]
alpha = { value = 1.5 }
beta = { value = 0.5 }
A = { shape = ["n", "k"] }
B = { shape = ["n", "k"] }
C = { shape = ["n", "n"], inout = true }
*/
class Matrix {
 public:
  Matrix(const float *data, int wide) : data_(data), wide_(wide) {}
  float operator()(int i, int j) const { return data_[i * wide_ + j]; }
 private:
  const float *data_;
  int wide_;
};
void rank_update(int n, int k, float alpha, float beta, const float *A, const float *B, float *C) {
  const Matrix a(A, k), b(B, k);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      auto sum = 0.0f;
      for (int l = 0; l < k; ++l) sum += a(j, l) * b(i, l) + b(j, l) * a(i, l);
      C[i * n + j] = beta * C[i * n + j] + alpha * sum;
    }
}
