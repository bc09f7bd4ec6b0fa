"""Errors a user can cause: one clear sentence, one exit code, no traceback."""


class TrainerError(Exception):
    """Something the user can put right.

    `problem` says what is wrong, `where` names the file, field or object, `remedy` what to do.
    Each part's own exception type derives from this one.
    """

    exit_code = 2

    def __init__(self, problem: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(self.sentence)

    @property
    def sentence(self) -> str:
        """`where: problem; remedy.` with the parts that are known."""
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        if self.remedy:
            text = f"{text}; {self.remedy}"
        return text if text.endswith((".", "?", "!")) else f"{text}."


class ConfigError(TrainerError):
    """A field of the run's configuration is missing, unknown or out of range."""


class SnapshotError(TrainerError):
    """A snapshot or one of its shards is missing, incomplete or in an unknown format."""


class BadSampleError(TrainerError):
    """A sample cannot be used, or more samples are bad than the budget allows."""


class CheckpointError(TrainerError):
    """A checkpoint cannot be written or read."""
