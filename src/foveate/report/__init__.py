"""Run directories in, pages and figures out: no model, no torch, no network."""


