"""Lab: measurements, and the paper's tables and figures."""
