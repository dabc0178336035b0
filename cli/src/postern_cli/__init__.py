"""postern: the command-line tool of Postern, for people who run, use and tune its doors. docs/postern-tool.md tells how."""

__version__ = "0.1.0"
