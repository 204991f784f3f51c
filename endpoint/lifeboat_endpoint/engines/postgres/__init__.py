"""The tables of an endpoint in PostgreSQL. No other package imports psycopg, which comes with the extra `scale`."""
