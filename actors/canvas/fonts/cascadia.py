"""How wide Cascadia Code is, as @excalidraw/excalidraw 0.18.1 ships it; made by `python -m tests.fonts`.

Font: Cascadia Code Regular, Version 2005.150. © 2020 Microsoft Corporation. All Rights Reserved.
Licence of the font: SIL Open Font License 1.1. Numbers only; no outline is kept here.
"""

from typing import Final

UNITS_PER_EM: Final = 2048
ADVANCES: Final = (
    "1200:20-7e,a0-ac,ae-17f,186,18f-190,192,19d,1a0-1a1,1a9,1af-1b0,1b7,1cd-1ce,1e6-1e7,1ea-1eb,1fa-1ff,218-21b,"
    "21e-21f,232-233,237,245,254,259,25b,26a,272,283,28c,292,2a7,2bb-2bc,2c6-2c7,2c9,2d8-2dd,374-375,37e,384-38a,"
    "38c,38e-3a1,3a3-3cf,3d7,400-45f,490-493,496-497,49a-49b,4a2-4a3,4ae-4b3,4b6-4b7,4ba-4bb,4c0,4cf,4d8-4d9,4e2-"
    "4e3,4e8-4e9,4ee-4ef,e3f,1e80-1e85,1e9e,1ea0-1ef9,2008,2010-2011,2013-2015,2017-201e,2020-2022,2024,2026,2028"
    ",2030,2032-2033,2039-203a,203c,203e,2044,2070,2074-2079,207f-2089,20a0-20a1,20a3-20a4,20a6-20ae,20b1-20b2,20"
    "b4-20b5,20b8-20ba,20bc-20be,2105,2113,2116-2117,2122,2126,212e,215b-215e,2190-2195,21a8,21e1,21e3,2202,2206,"
    "220f,2211-2212,2215,2219-221a,221e-221f,2229,222b,2248,2260-2265,2310,2320-2321,23af,2500-25ff,2619,263a-263"
    "c,2640,2642,2660,2663,2665-2666,266a-266b,2713,2767,276c-276f,2800-28ff,2a2f,2b12-2b2f,2bc5-2bc8,2bca-2bcb"
)
KERNING: Final = ""
