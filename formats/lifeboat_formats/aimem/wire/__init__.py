"""Bundles as bytes: spans, values and signatures."""
