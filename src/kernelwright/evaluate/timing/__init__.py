"""How time is taken: the paired benchmark, fresh inputs, ceilings, and the conditions of the device."""
