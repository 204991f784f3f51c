"""`lifeboat proposals`: what agents asked for, and the user's decisions."""
