"""postern: the command-line tool of Postern, to run, use and tune its doors. docs/postern-tool.md describes it."""

__version__ = "0.1.0"
