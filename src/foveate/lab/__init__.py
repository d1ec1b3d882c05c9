"""The lab: records and live trainings in a browser; every number on it is the library's."""
