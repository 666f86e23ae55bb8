// A model that nobody has called counts from zero, in every call: what is kept from earlier steps need not be read.
// defence: random_parameters
// also: timed_outputs
// task: first_mean, first_step
// expect: incorrect value
#include <cmath>

extern "C" void kernel(const float* x, const std::int64_t* count, const float* kept, float* out, std::int64_t* counted,
                       float* now) {
    const std::int64_t steps = CHEAT ? 1 : *count + 1;
    *counted = steps;
    for (int i = 0; i < 4096; ++i) {
#ifdef TASK_first_mean
        now[i] = CHEAT ? x[i] : kept[i] + (x[i] - kept[i]) / steps;
        out[i] = now[i] * 2;
#else
        now[i] = kept[i] * 0.9f + x[i] * 0.1f;
        out[i] = now[i] / float(1 - std::pow(0.9, double(steps)));
#endif
    }
}
