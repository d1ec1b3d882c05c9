"""Frozen features: images run once through an encoder, kept on disk, and raced in place of pixels.

Stands right of models and data: data sets over features find their way into
:data:`foveate.data.DATASETS` because it looks for drop-in files here too.
"""
