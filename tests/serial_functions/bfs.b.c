/* kernelwright
[sizes]
v = 500
deg = 6
[arguments]
edges = { shape = ["v","deg"], values = "index", bound = "v" }
now = { shape = ["v"], values = "index", bound = 2 }
depth = { shape = ["v"], inout = true, values = "index", bound = 3 }
then = { shape = ["v"] }
*/
void visit(const int *edges, const int *now, int *depth, int *then, int v, int deg)
{
    int node, k;
    for (node = 0; node < v; ++node)
    {
        int found = 0;
        for (k = node * deg; k < (node + 1) * deg; ++k)
            if (now[edges[k]])
                found = 1;
        then[node] = 0;
        if (found && depth[node] == 0)
        {
            then[node] = 1;
            depth[node] = 3;
        }
    }
}
