"""Documents that keys seal or sign: credentials, sequences, redactions, receipts."""
