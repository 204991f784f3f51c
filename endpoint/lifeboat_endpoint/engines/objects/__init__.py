"""Large bodies as objects of random names in an S3-compatible store, Google Cloud Storage or Azure Blob Storage. What
there is stands in a table (`blobs`), never in a listing: listings may be late."""
