"""Which protocol a message is of, and where it was split: from its bytes, which are never shown.

Kept as data: one entry, one protocol. Binary protocols are in `framings` (a header that tells its
length), text protocols in `texts`, protocols known by a port or their first bytes in `services`.
Nothing is said of what is not recognised. `payloads` alone reads the bytes.
"""
