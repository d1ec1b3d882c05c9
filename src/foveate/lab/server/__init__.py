"""The HTTP server of the lab: routes, sessions, access control, streaming."""
