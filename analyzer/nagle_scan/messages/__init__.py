"""The protocol of a message, and where it was split. The bytes themselves are never shown.

Protocols are data, one entry each: their ports are in `protocols`. Binary ones are in `framings`,
their headers in `units`, text protocols in `texts`; `services` names the protocol by them, or by
the port. Messages that are not recognised are not reported; a fit that may be chance only 'looks
like' its protocol. Only `payloads` reads the bytes.
"""
