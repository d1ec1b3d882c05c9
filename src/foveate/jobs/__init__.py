"""Jobs: everything that runs, can be interrupted and resumed, and ends with a report."""
