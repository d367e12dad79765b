"""Charts as inline SVG, made on the server. Colours are CSS classes, so that light, dark and print need no script."""
