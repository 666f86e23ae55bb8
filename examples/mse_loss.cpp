// Mean squared error for examples/mse_loss.py, written by hand. Judge it with
//
//     kernelwright check examples/mse_loss.py examples/mse_loss.cpp
//
// The referee calls the extern "C" function with pointers to the inputs, then to the parameters
// (this task has none), then to the results. Tensors are dense and row-major; sizes are constants
// of this file. Inputs cannot be written to, and every element of every result must be written at
// every call. docs/candidate.md has the whole contract.
#include <cstdint>

extern "C" void mse_loss(const float* predictions, const float* targets, float* out) {
  constexpr std::int64_t kRows = 4096, kColumns = 4096;
  double total = 0.0;
  // A row is summed in fp32, with as many lanes as the processor has, and the rows in fp64: so
  // rounding stays within a row.
#pragma omp parallel for reduction(+ : total) schedule(static)
  for (std::int64_t row = 0; row < kRows; ++row) {
    const float* p = predictions + row * kColumns;
    const float* t = targets + row * kColumns;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < kColumns; ++i) {
      const float difference = p[i] - t[i];
      sum += difference * difference;
    }
    total += sum;
  }
  *out = static_cast<float>(total / (kRows * kColumns));
}
