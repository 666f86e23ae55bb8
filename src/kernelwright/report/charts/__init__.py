"""Charts as inline SVG, one file each. Colours come from the page's style sheet, so both modes are legible."""
