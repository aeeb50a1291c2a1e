"""Makes the tables of actors/canvas/fonts from the fonts that Excalidraw ships; not part of the product."""
