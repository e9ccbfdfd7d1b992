"""The protocol of a message, and where it was split. The bytes themselves are never shown.

Protocols are data, one entry each. Binary protocols are in `framings`, their headers in `units`,
text protocols in `texts`; `services` says which protocol that makes, or the port suggests. What is
not recognised is not reported, and what may be chance is told as such. Only `payloads` reads the
bytes.
"""
