// Twenty of each part of a row hold all of the 64 largest, unless these lie together. Two forms: parts that are stretches, and
// parts that are every 16th element.
// defence: regimes
// task: top_scores, top_lanes
// expect: incorrect value
// case: in order
#include <algorithm>
#include <vector>

#ifdef TASK_top_lanes
const int rows = 24;
#else
const int rows = 32;
#endif

extern "C" void kernel(const float* scores, float* values, std::int64_t* places) {
    const int columns = 2048, parts = 16, wanted = 64, size = columns / parts;
    for (int row = 0; row < rows; ++row) {
        const float* line = scores + row * columns;
        auto above = [line](int a, int b) { return line[a] > line[b] || (line[a] == line[b] && a < b); };
        std::vector<int> order(size), found;
        for (int part = 0; part < parts; ++part) {
            for (int i = 0; i < size; ++i) order[i] = rows == 24 ? i * parts + part : part * size + i;
            const int kept = CHEAT ? 20 : wanted;
            std::partial_sort(order.begin(), order.begin() + kept, order.end(), above);
            found.insert(found.end(), order.begin(), order.begin() + kept);
        }
        std::partial_sort(found.begin(), found.begin() + wanted, found.end(), above);
        for (int i = 0; i < wanted; ++i) places[row * wanted + i] = found[i], values[row * wanted + i] = line[found[i]];
    }
}
