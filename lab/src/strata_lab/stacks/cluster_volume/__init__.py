"""A disk that two nodes reach, and the ways to a file on it: direct, through a share, redirected."""
