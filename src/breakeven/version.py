"""The version, where the build and the command line both find it."""

__version__ = "0.1.0"
