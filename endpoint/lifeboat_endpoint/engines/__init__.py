"""Where an endpoint keeps its data, behind one contract (`contract`).

`files_engine` uses files of one machine. `shared` uses a database and an object store that many processes on many
machines share.
"""
