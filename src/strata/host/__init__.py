"""The machine underneath: files of the kernel, mounts, block devices, child processes, and what may be touched."""
