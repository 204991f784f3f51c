"""What an endpoint keeps everything on: files of one machine (`files`), or a database and an object store that many
processes on many machines share (`shared`). One contract (`contract`)."""
