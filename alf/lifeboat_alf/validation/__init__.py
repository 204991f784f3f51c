"""The checks behind `lifeboat_alf.validation.validate_file`, one module per kind of thing that is checked."""
