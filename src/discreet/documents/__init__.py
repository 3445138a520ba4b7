"""Files of fits, releases and curves by group as pure data, strict JSON in and out."""
