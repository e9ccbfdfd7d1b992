"""What sets TCP_NODELAY in the programs that a capture can point to, with the source of each."""

from nagle_scan.advice.programs import databases, http, messaging

SETTINGS = http.SETTINGS + databases.SETTINGS + messaging.SETTINGS
"""The likeliest first, wherever a capture names them."""
