"""Files behind the data sets: where they are found, how they are decoded and cached."""
