"""One file a revision, named by number and what it does."""
