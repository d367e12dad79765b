"""The vocabulary: frozen values without I/O. Every arrow between stages of Strata is one of these."""
