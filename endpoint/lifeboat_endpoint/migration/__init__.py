"""An endpoint moves from its data folder into a database and an object store (`moving`), row by row and body by body,
as it is sealed. Wherever it is cut off, giving the command again goes on."""
