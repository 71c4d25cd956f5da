"""`scrapy verify`: whether a store proves the promises, judged by its lines and bodies alone.

Imports of the crawler only the record format and the pure functions whose answers it has to reproduce, never a part
that crawls: see tests/test_layers.py. Reads in one direction, so its time grows with the store and its memory hardly.
"""
