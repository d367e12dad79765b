"""Whether intervals hold what they promise: known series, and the real engine against itself."""
