"""The checks behind `lifeboat_alf.validate`, one module per kind of thing that is checked."""
