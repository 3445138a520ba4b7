"""The version, where everything may read it."""

__version__ = "0.3.0.dev0"
