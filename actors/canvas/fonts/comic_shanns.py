"""How wide Comic Shanns Mono is, as @excalidraw/excalidraw 0.18.1 ships it; made by `python -m tests.fonts`.

Font: Comic Shanns Regular, 1.3.0. MIT License Copyright (c) 2018 Shannon Miwa Copyright (c) 2023 Jesus
Gonzalez Copyright (c) 2023 Rodrigo Batista de Moraes Copyright (c) 2024 Fini Jastrow Copyright (c) 2024
Kyle Beechly
Licence of the font: MIT. Numbers only; no outline is kept here.
"""

from typing import Final

UNITS_PER_EM: Final = 1000
ADVANCES: Final = (
    "540:ec-ef,129,12b,12d 543:3bb 548:141-142 550:20-7e,a1-a6,a8,ab-ac,af-b1,b4,b8,bb-bc,bf-cf,d1-d7,d9-de,e0-eb"
    ",f2-f7,f9-10f,112-125,128,12a,12c,12e-131,134-137,139-13c,143,145,147,14c-161,164-165,168-17f,1bf,1f7,218-21"
    "b,237,2c6-2c7,2d8-2dd,1e80-1e85,1ef2-1ef3,2013-2014,2018-201a,201c-201d,2020-2022,2026,2039-203a,2044,20ac,2"
    "190-2193,2200,2203-2204,2212,2264-2265,a75b,f6c3 600:f1,144,146,148"
)
KERNING: Final = ""
