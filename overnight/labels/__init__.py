"""Labels: the table analysts edit, the checks it must pass, and the immutable snapshots made of it."""
