"""A volume of which two or three nodes hold a copy, used on the node that owns it and on one that holds nothing."""
