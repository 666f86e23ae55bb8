/* kernelwright
[sizes]
n = 300
[arguments]
keys = { shape = ["n"] }
place = { shape = ["n"] }
*/
void ranks(const float *keys, int *place, int n)
{
    int a, b;
    for (a = 0; a < n; ++a)
    {
        place[a] = 0;
        for (b = 0; b < n; ++b)
        {
            if (keys[b] < keys[a])
                place[a]++;
            else if (keys[b] == keys[a] && b < a)
                place[a]++;
        }
    }
}
