"""The profile stage: a call's launches, counters from Nsight Compute, and the loops' assembly."""
