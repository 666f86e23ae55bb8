"""The profile stage: the clock, ratios with intervals, ceilings and floors."""
