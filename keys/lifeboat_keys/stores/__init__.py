"""Where the user's key can lie: one module per store, all behind `contract.KeyStore`."""
