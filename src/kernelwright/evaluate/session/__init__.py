"""One task in front of the referee, and one candidate in front of that: inputs, cases, what is expected, what is allowed."""
