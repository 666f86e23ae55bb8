"""From the OpGraph to a fused loop nest: what is computed in which pass over the data."""
