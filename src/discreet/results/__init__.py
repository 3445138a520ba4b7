"""What follows from a file: predictions, life tables, curves by group, summaries.  No record is read."""
