/* kernelwright
[sizes]
h = 90
w = 110
r = 2
[arguments]
src = { shape = ["h", "w"], values = "index", bound = 256 }
dst = { shape = ["h", "w"] }
*/
#include <algorithm>
void dilate(const int* src, int* dst, const int h, const int w, const int r)
{
    for (int i = 0; i < h; ++i) {
        const int top = std::max(0, i - r), bottom = std::min(h - 1, i + r);
        for (int j = 0; j < w; ++j) {
            const int left = std::max(0, j - r), right = std::min(w - 1, j + r);
            int best = src[i * w + j];
            for (int a = top; a <= bottom; ++a)
                for (int b = left; b <= right; ++b)
                    best = std::max(best, src[a * w + b]);
            dst[i * w + j] = best;
        }
    }
}
