"""A file system reached from a second node over SMB or NFS."""
