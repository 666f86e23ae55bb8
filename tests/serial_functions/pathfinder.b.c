/* kernelwright
[sizes]
rows = 20
cols = 300
[arguments]
grid = { shape = ["rows","cols"], values = "index", bound = 10 }
cost = { shape = ["cols"] }
*/
#include <stdlib.h>
#define LESS(a, b) ((a) < (b) ? (a) : (b))
void cheapest(const int *grid, int *cost, int rows, int cols)
{
    int *last = (int *) malloc(cols * sizeof(int));
    int r, c;
    for (c = 0; c < cols; c++)
        cost[c] = grid[c];
    for (r = 1; r < rows; r++)
    {
        for (c = 0; c < cols; c++)
            last[c] = cost[c];
        for (c = 0; c < cols; c++)
        {
            int m = last[c];
            if (c > 0) m = LESS(m, last[c - 1]);
            if (c < cols - 1) m = LESS(m, last[c + 1]);
            cost[c] = grid[r * cols + c] + m;
        }
    }
    free(last);
}
