"""Charts as inline SVG, one file each. Colours come from the page's style sheet, light or dark."""
