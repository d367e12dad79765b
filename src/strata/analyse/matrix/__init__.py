"""A matrix of cells, each visited briefly and often: what its visits say, what its neighbours say, where to go next."""
