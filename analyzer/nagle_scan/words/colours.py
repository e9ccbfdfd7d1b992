"""The colours of all pictures.

Okabe and Ito, 'Color Universal Design' (2008): distinct with any kind of colour vision. Only
those of the set that stand out from both a white and a black background.
"""

HELD = "#d55e00"
HELD_ONE_ROUND_TRIP = "#cc79a7"
HELD_UNTIL_DATA = "#e69f00"
ACK = "#0072b2"
CLIENT = "#009e73"
SERVER = "#0072b2"
OTHER = "#8a8a8a"
PALE = "#b8b8b8"
DARK = "#595959"

INK = "#1a1a1a"
"""Text and axes; on a page they take the colour of the surrounding text."""
FAINT = "#767676"

ON_DARK = {
    HELD: "#ff8a3d",
    ACK: "#56b4e9",
    CLIENT: "#2fd0a0",
    OTHER: "#a8a8a8",
    HELD_ONE_ROUND_TRIP: "#e6a8cb",
    HELD_UNTIL_DATA: "#ffc04d",
}
"""Brighter shades for a page that is always dark."""
