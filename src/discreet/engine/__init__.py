"""Where the people are: one process now, others behind the same seam."""
