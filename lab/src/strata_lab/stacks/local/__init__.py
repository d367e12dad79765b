"""Medium, loop device, file system: one node."""
