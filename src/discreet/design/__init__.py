"""Public facts, known before a record is read: schema, time grid, baseline, link, coordinates."""
