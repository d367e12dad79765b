"""Three nodes serve the same blocks over iSCSI; a client has several sessions to each; one node is taken away."""
