"""Seaspider beside its peers: the same workloads, the servers' log, one table. See README.md in the folder above."""
