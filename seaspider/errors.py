"""The errors a user can meet, and the exit code each ends a command with.

SeaspiderError
├── UsageFault            2   a setting, an argument or the queue cannot be used; nothing was asked of anybody
│   ├── SettingError          names the setting and its value
│   ├── ArgumentError         names the spider argument and its value
│   └── QueueFileError        names the queue file and what is wrong with it
├── RunFailed             74  this machine cannot go on; nothing is concluded about anybody from it
│   ├── StoreError            the store cannot be written or read
│   ├── Shortage              no descriptor, buffer or memory is left for a request
│   └── LeaseLost         75  another runner has taken over the shard
└── StoreInUse            75  another process works on the store
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command ends with (README, "Exit codes")."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    UNFINISHED = 3
    GATE = 4
    STORE = 74
    STORE_IN_USE = 75
    INTERRUPTED = 130


class SeaspiderError(Exception):
    """An error with an exit code; its text is one line for the user."""

    exit_code = ExitCode.INTERNAL


class UsageFault(SeaspiderError):
    exit_code = ExitCode.USAGE


class SettingError(UsageFault):
    def __init__(self, name: str, value: object, why: str) -> None:
        super().__init__(f"setting {name} = {value!r}: {why}")


class ArgumentError(UsageFault):
    def __init__(self, name: str, value: object, why: str) -> None:
        super().__init__(f"argument -a {name}={value}: {why}")


class QueueFileError(UsageFault):
    pass


class RunFailed(SeaspiderError):
    exit_code = ExitCode.STORE
    word = ""
    """The reason in the manifest."""


class StoreError(RunFailed):
    word = "store-error"


class Shortage(RunFailed):
    """Not the server's doing, so it is never recorded as an answer, or as the lack of one."""

    word = "shortage"


class LeaseLost(RunFailed):
    """Whoever holds the lease of the shard now goes on with it."""

    exit_code = ExitCode.STORE_IN_USE
    word = "lease-lost"


class StoreInUse(SeaspiderError):
    exit_code = ExitCode.STORE_IN_USE
