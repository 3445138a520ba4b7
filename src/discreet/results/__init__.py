"""Predictions, life tables, curves by group and summaries that follow from a file, without a record."""
