/* kernelwright
[sizes]
h = 40
w = 60
steps = 4
[arguments]
old = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
new = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
*/
static int alive(const int *g, int y, int x, int h, int w) {
    if (y < 0 || y >= h || x < 0 || x >= w) return 0;
    return g[y * w + x];
}
void generations(int *old, int *new, int h, int w, int steps)
{
    int g, y, x;
    for (g = 0; g < steps; ++g)
    {
        for (y = 0; y < h; ++y)
            for (x = 0; x < w; ++x)
            {
                int c = alive(old, y-1, x-1, h, w) + alive(old, y-1, x, h, w) + alive(old, y-1, x+1, h, w)
                      + alive(old, y, x-1, h, w) + alive(old, y, x+1, h, w)
                      + alive(old, y+1, x-1, h, w) + alive(old, y+1, x, h, w) + alive(old, y+1, x+1, h, w);
                new[y * w + x] = (c == 3) || (c == 2 && old[y * w + x]);
            }
        for (y = 0; y < h; ++y)
            for (x = 0; x < w; ++x)
                old[y * w + x] = new[y * w + x];
    }
}
