"""Engines that run work on rented machines, one file each; plug-ins of the group `launchers`."""
