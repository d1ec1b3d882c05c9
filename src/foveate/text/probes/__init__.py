"""Probes of word knowledge: live models of texts → arrays by position. [snell21] Sec. 2.2, 5.1"""
