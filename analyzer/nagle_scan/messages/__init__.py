"""The protocol of a message, and where it was split. The bytes themselves are never shown.

Protocols are data, one entry each. Binary protocols are in `framings` (a header that tells its
length), text protocols in `texts`, protocols known by a port or their first bytes in `services`.
What is not recognised is not reported. Only `payloads` reads the bytes.
"""
