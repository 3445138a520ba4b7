"""Fitted models as pure data: files, curves, bands, life table, summary.  Nothing here sees a record."""
