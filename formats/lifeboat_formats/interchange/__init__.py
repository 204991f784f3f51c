"""The common part of formats of other memory systems: contract, registry, cleaning and errors."""
