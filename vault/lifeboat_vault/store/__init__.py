"""Where a vault keeps its rows and its large bodies, behind two protocols."""
