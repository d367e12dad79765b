"""Parts of a lab that run as processes of their own: a disk with a model, a hop that delays and loses."""
