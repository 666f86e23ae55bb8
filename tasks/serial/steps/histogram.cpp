//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: copies = replicated-counters | | An increment waits for the one before it where values repeat. | Four histograms, taken in turn
//: threads = privatised-partials | | One core of several works. | A histogram of its own for each core
#include <cstring>

extern "C" void kernel(const int* x, int* counts) {
  constexpr long n = ${n};
  std::memset(counts, 0, 256 * sizeof(int));
//% if threads
#pragma omp parallel
//% endif
  {
//% if copies
    int own[4][256] = {};
//% if threads
#pragma omp for schedule(static)
//% endif
    for (long i = 0; i < n; i += 4)
      for (long k = 0; k < 4; ++k) ++own[k][x[i + k]];
//% else
    int own[1][256] = {};
//% if threads
#pragma omp for schedule(static)
//% endif
    for (long i = 0; i < n; ++i) ++own[0][x[i]];
//% endif
//% if threads
#pragma omp critical
//% endif
    for (auto& copy : own)
      for (long k = 0; k < 256; ++k) counts[k] += copy[k];
  }
}
