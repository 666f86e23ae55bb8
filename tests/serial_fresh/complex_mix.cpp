/* kernelwright
[sizes]
n = 3000
[arguments]
i_in = { shape = ["n"] }
q_in = { shape = ["n"] }
i_out = { shape = ["n"] }
q_out = { shape = ["n"] }
w = { value = 0.01 }
*/
#include <complex>
#include <cmath>
void complex_mix(const float* i_in, const float* q_in, float* i_out, float* q_out, float w, int n) {
  for (int k = 0; k < n; ++k) {
    std::complex<float> z(i_in[k], q_in[k]);
    std::complex<float> r(std::cos(w * k), -std::sin(w * k));
    z *= r;
    i_out[k] = z.real();
    q_out[k] = z.imag();
  }
}
