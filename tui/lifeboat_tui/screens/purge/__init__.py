"""The purge wizard and the screen of receipts."""
