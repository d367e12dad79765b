"""Virtual disks over storage-only nodes: controllers with queues, a read cache in front, nodes added while it runs."""
