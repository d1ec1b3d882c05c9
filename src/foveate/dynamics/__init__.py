"""Gradient flows and their exact solutions, NumPy and SciPy only; one paper's system per name.

``vr23`` holds the linear-orthogonal setting of soft, hard and marginal-likelihood attention,
``blog21`` the two-token toy classifier of the snell21 blog post.
"""
