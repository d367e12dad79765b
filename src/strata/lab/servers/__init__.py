"""The servers of a lab, one file each: ``start(lab, node, …)`` makes its configuration and waits until it answers."""
