"""The verify stage: regimes, calibrated comparison against fp64."""
