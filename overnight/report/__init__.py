"""The report: one self-contained HTML file a run, from the files that the run and its inputs left."""
