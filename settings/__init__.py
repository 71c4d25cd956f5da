"""Settings packages, picked with SCRAPY_PROJECT: default, research, loopback. `base` holds what the promises need."""
