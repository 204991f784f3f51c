"""The tables of an endpoint in PostgreSQL. Nothing else imports psycopg; it comes with the extra `scale`."""
