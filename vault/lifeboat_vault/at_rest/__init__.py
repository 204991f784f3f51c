"""Everything an endpoint keeps is encrypted: data keys per tenant or agent, and the sources that wrap them."""
