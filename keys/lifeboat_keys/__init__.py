"""The user's key and what hangs on it: the 24 words, the device key, the agents' pairs, sealing, signing.

`home_keys.HomeKeys` is the door: the keys of one home on this machine. `sealing` and `signing` are pure.
"""
