constexpr long WIDTH = 32, BAGS = 32768, BAG = 8;

extern "C" void kernel(const float* table, const long* indices, float* out) {
#pragma omp parallel for
    for (long bag = 0; bag < BAGS; ++bag) {
        float sum[WIDTH] = {};
        for (long i = bag * BAG; i < (bag + 1) * BAG; ++i) {
            const float* row = table + indices[i] * WIDTH;
            for (long lane = 0; lane < WIDTH; ++lane) sum[lane] += row[lane];
        }
        for (long lane = 0; lane < WIDTH; ++lane) out[bag * WIDTH + lane] = sum[lane];
    }
}
