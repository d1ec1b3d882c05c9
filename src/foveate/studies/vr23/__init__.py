"""Studies of vr23: fixed focus, incentives, gradient flows, signatures, Table 1."""
