# task: chain
# truth: wrong
# claimed: 1.00
class ModelNew(torch.nn.Module)
    pass
