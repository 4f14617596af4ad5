"""Rules without files, clocks or git: each takes values and returns a decision with its reason."""
