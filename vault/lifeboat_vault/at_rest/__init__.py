"""Encrypt what an endpoint stores: data keys per tenant or agent, and the key sources that wrap them."""
