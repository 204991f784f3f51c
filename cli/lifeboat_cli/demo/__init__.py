"""The whole story on a throw-away workspace, checked against an independent reading of the files."""
