"""The verify stage: input distributions, calibrated comparison against fp64."""
