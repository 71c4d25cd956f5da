"""Loaded by each worker of this machine before it works: a Ctrl-C on their common terminal is for the command alone."""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
