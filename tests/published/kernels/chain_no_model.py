# task: chain
# truth: wrong
# claimed: 1.00
import torch


def fused(x):
    return x
