"""Remotes in buckets of object stores: S3 and compatible ones, Google Cloud Storage, Azure."""
