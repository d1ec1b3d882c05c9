"""Studies of pvr22: error modes, captions, Table 2."""
