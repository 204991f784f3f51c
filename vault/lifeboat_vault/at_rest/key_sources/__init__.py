"""Where the key lies that wraps data keys; never in the folder of the data. One file per kind."""
