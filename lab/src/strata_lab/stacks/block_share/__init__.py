"""A file reached from a second node as a block device, over NBD or iSCSI."""
