"""What is public before a record is read: schema, time grid, baseline, link, coordinates."""
