"""Which files start this work there? The same locked plan on every candidate, on engines that people have."""
