"""Many shards of one queue, each a crawl of its own: the plan, and the run on Dask."""
