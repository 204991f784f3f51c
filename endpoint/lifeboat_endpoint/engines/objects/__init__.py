"""Large bodies as objects with random names, in an S3-compatible store, Google Cloud Storage or Azure Blob Storage.

A table lists them (`blobs`). Listings of the store are not used for this, because they may be outdated.
"""
