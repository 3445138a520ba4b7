"""The trusted core: everything between encoded people and a released number (docs/core.md)."""
