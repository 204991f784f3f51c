"""Keys and everything that depends on them: recovery words, device key, agents' key pairs, sealing, signing.

Start with `home.home_keys.HomeKeys`, the keys of one home on this machine. `signed.credential_sealing` and
`signed.sequence_signatures` are pure.
"""
