"""Draw a face for each made-up person of this register.

    python registers/demo/draw_faces.py

Writes fotos/NAME.png for each first name in LOOKS. NAME and the age are read from
personas/NAME.html. The same pages give the same bytes.
"""

import re
from itertools import pairwise
from math import cos, pi, sin, sqrt
from pathlib import Path
from zlib import crc32

from PIL import Image, ImageColor, ImageDraw

Points = list[tuple[float, float]]
HERE = Path(__file__).parent
WIDTH, HEIGHT, FINER = 320, 400, 4
BOTH, RIGHT = (1, -1), (1,)
BLACK, WHITE, RED, BROWN = "#000000", "#ffffff", "#e2543f", "#4a1008"

# Skin, hair, its front, its back, clothes, their colour, wall, extras.
LOOKS = """
alma      #edc19a #5a3825 fringe bunches  dungarees #c8553d #dfe8ea
benicio   #e0ac7e #33241c side   -        shirt     #4a6fa5 #efe3d3
clara     #f4d5b8 #a8743f baby   -        dots      #d97b6c #e4ead9 bow
dante     #f0c9a4 #8a5a30 bowl   -        stripes   #3f7d58 #f0dfdb
elena     #e8b88c #4a2c1d middle wavy     plain     #7a5aa0 #f3ead0 glasses
facundo   #c98d58 #1f1a17 spiky  -        hood      #b5493a #dde4ee
greta     #f6d9be #b98a45 fringe bob      dots      #2f7f86 #e8e0ec
hilario   #f5d3b5 #9c4a22 tuft   -        stripes   #3d4a6b #e4ead9 glasses freckles
irupe     #b97a48 #1c1816 fringe long     plain     #d0733f #dfe8ea
joaquin   #a86b3c #241812 curls  mop      vee       #3f7d58 #efe3d3
kiara     #7d4a28 #1b1310 back   puffs    dots      #c98a2b #e8e0ec
lautaro   #cf9560 #221a16 short  -        dungarees #4a6fa5 #f3ead0
mia       #f3cfae #a5542a swept  tail     vee       #2f6f8f #f0dfdb freckles
nahuel    #c68a58 #2a1d17 baby   -        stripes   #6f9a5b #dde4ee
nusta     #b5743f #17151a middle plaits   shirt     #a83e5b #e4ead9
octavio   #f2caa6 #b5813a curls  mop      plain     #7a5aa0 #dfe8ea
quimey    #c58650 #3a2417 middle -        stripes   #b5493a #dde4ee
renata    #d9a273 #45291b curls  cloud    dungarees #8a5fa8 #efe3d3
simon     #6b3f24 #17110f short  afro     hood      #3d6b8f #f0dfdb
tania     #8d5a34 #1d1512 back   bun      vee       #d0653f #dde4ee
ulises    #5c3620 #15100e crop   -        plain     #d9a441 #e4ead9
violeta   #eebf98 #6e3f22 fringe buns     stripes   #c75b7a #f3ead0
wenceslao #dba47a #2e2320 high   -        shirt     #5b6770 #e8e0ec beard
ximena    #d49c6b #33201a swept  long     dots      #3a7a6d #f0dfdb band
yago      #f0c49c #4f3322 quiff  -        hood      #2f7f86 #f3ead0
"""
# The hair's thickness. The hairline from the right temple to the middle, or on to the left temple.
# Here and below, 1 to the right is half the head's width, and 1 down is from its top to its eyes.
FRONTS = """
fringe 8  1,1.15 .9,.95 .78,.72 .4,.68 0,.67
bowl   8  1,1 .9,.75 .6,.58 .3,.53 0,.52
middle 8  1,1.3 .92,.95 .74,.62 .3,.4 0,.1
back   6  1,.95 .88,.68 .66,.38 .3,.24 0,.22
short  8  1,.95 .9,.78 .8,.5 .45,.36 0,.38
crop   3  1,.9 .9,.8 .82,.44 .4,.34 0,.33
high   6  1,1.1 .9,.85 .78,.35 .5,.16 0,.26
curls  8  1,.95 .88,.72 .62,.46 .3,.36 0,.34
baby   4  .84,.46 .72,.34 .56,.46 .36,.28 .14,.44 0,.3
spiky  12 1,1 .9,.7 .74,.66 .72,.66 .5,.34 .36,.64 .34,.64 .12,.34 0,.6
side   9  1,.95 .92,.72 .8,.56 .3,.6 -.3,.5 -.55,.3 -.7,.42 -.9,.72 -1,.95
swept  8  1,1.1 .92,.85 .72,.6 .2,.48 -.25,.3 -.45,.1 -.72,.45 -.92,.85 -1,1.1
tuft   10 1,.95 .92,.75 .8,.5 .5,.38 .1,.62 -.1,.66 -.5,.62 -.8,.5 -.92,.75 -1,.95
quiff  12 1,.9 .88,.72 .72,.4 .3,.26 -.2,.34 -.6,.44 -.88,.72 -1,.95
"""
# The right half of the hair behind: its outline, balls (with a radius) and ties (with a *).
BACKS = """
long    0,0 1,.3 1.14,.9 1.18,1.6 1.2,2.3 1.1,2.6 .6,2.6 0,2.4
wavy    0,0 1,.3 1.12,.8 1.34,1.15 1.12,1.5 1.4,1.85 1.16,2.2 1.36,2.55 .9,2.65 0,2.4
bob     0,0 1,.3 1.14,.9 1.22,1.45 1.12,1.75 .7,1.8 0,1.7
bunches .9,.55 1.2,.4 1.5,.7 1.55,1.2 1.35,1.65 1.22,1.2 1.1,.85 *1.06,.64,.12
plaits  1,1.1,.16 1.07,1.3,.19 1.1,1.53,.2 1.1,1.75,.2 1.06,1.97,.19 1,2.2,.17 *1,2.4,.12 1,2.55,.11
tail    .5,.1 1,-.05 1.45,.3 1.55,1.1 1.4,1.9 1.25,1.3 1.1,.7 *.84,.2,.12
bun     0,-.16,.42
buns    .68,-.02,.36
puffs   .92,.08,.5 1.1,-.1,.3 .72,-.16,.3 1.2,.24,.3
mop     0,-.02,.34 .34,0,.34 .66,.16,.32 .9,.4,.28 1.02,.66,.22
cloud   0,-.04,.38 .4,0,.38 .76,.18,.36 1.04,.5,.36 1.14,.86,.36 1.16,1.2,.34 1.1,1.5,.3
afro    0,.4,1.16 .1,.6,1.1
"""


def table(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.strip().splitlines()}


def numbers(item: str) -> list[float]:
    return [float(number) for number in item.strip("*").split(",")]


def mixed(colour: str, other: str, share: float) -> str:
    pairs = zip(ImageColor.getrgb(colour), ImageColor.getrgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def smooth(points: Points) -> Points:
    """Cut the corners, but for the two ends."""
    for _ in range(4):
        pairs = [(p, q, share) for p, q in pairwise(points) for share in (0.25, 0.75)]
        cut = [(a + (c - a) * share, b + (d - b) * share) for (a, b), (c, d), share in pairs]
        points = [points[0], *cut, points[-1]]
    return points


def arc(x: float, y: float, wide: float, high: float, start: int = 0, end: int = 360) -> Points:
    turns = [pi / 180 * (start + (end - start) * i / 120) for i in range(121)]
    return [(x + wide * cos(turn), y - high * sin(turn)) for turn in turns]


class Face:
    """A drawing whose x is counted from its middle. What is drawn right, is drawn left too."""

    def __init__(self, name: str, age: float, look: list[str]) -> None:
        self.skin, self.hair, self.front, self.back, self.clothes, self.cloth, wall = look[:7]
        self.extras, self.kinds = look[7:], [crc32(name.encode()) // 3**i % 3 for i in range(4)]
        self.image = Image.new("RGB", (WIDTH * FINER, HEIGHT * FINER), wall)
        self.pen = ImageDraw.Draw(self.image)
        self.grown = grown = min(sqrt(age / 22), 1)
        self.half, self.top, self.chin = 100 - 24 * grown, 104 - 20 * grown, 282 + 2 * grown
        self.eyes = self.top + (self.chin - self.top) * (0.64 - 0.13 * grown)
        self.neck, self.shoulders = 22 + 14 * grown, 88 + 50 * grown
        self.collar = self.chin + 6 + 22 * grown

    def at(self, x: float, y: float) -> tuple[float, float]:
        return x * self.half, self.top + y * (self.eyes - self.top)

    def below(self, share: float) -> float:
        """From the eyes (0) to the chin (1)."""
        return self.eyes + (self.chin - self.eyes) * share

    def shoulder(self, y: float) -> tuple[float, float]:
        share = max(0.0, (420 - y) / (420 - self.collar))
        return self.shoulders * (1 - share**2.6) ** (1 / 2.6), y

    def fill(self, points: Points, colour: str, sides: tuple[int, ...] = BOTH) -> None:
        for side in sides:
            corners = [((WIDTH / 2 + side * x) * FINER, y * FINER) for x, y in points]
            self.pen.polygon(corners, colour)

    def line(self, points: Points, width: float, colour: str) -> None:
        for x, y in points:
            self.fill(arc(x, y, width / 2, width / 2), colour)

    def draw_back(self, balls: bool) -> None:
        sides = RIGHT if self.back == "tail" else BOTH
        items = table(BACKS).get(self.back, [])
        outline = [self.at(*numbers(item)) for item in items if item.count(",") == 1]
        if outline and not balls:
            self.fill(smooth([*outline, outline[0]]), self.hair, sides)
        for item in items if balls else []:
            x, y, *radius = numbers(item)
            size = sum(radius) * self.half
            colour = mixed(self.cloth, WHITE, 0.3) if item[0] == "*" else self.hair
            self.fill(arc(*self.at(x, y), size, size), colour, sides)

    def draw_body(self) -> None:
        dark, light = mixed(self.cloth, BLACK, 0.18), mixed(self.cloth, WHITE, 0.72)
        clothes, top, neck = self.clothes, self.collar, self.neck
        if clothes == "hood":
            self.fill(arc(0, top + 10, neck + 42, 34), dark)
        edge = [self.shoulder(top + (410 - top) * (i / 40) ** 2) for i in range(41)]
        self.fill([*edge, (0, 410)], light if clothes == "dungarees" else self.cloth)
        for y in range(round(top) + 30, 400, 26) if clothes == "stripes" else ():
            self.fill([(0, y), self.shoulder(y), self.shoulder(y + 11), (0, y + 11)], light)
        for y in range(round(top) + 34, 410, 22) if clothes == "dots" else ():
            spots = range(y // 22 % 2 * 14, round(self.shoulder(y)[0]) - 8, 28)
            self.line([(x, y) for x in spots], 8, light)
        if clothes == "dungarees":
            self.fill([(0, 410), (52, 410), (48, 352), (0, 352)], self.cloth)
            self.line(smooth([(40, 360), (neck + 20, top + 6)]), 15, self.cloth)
            self.line([(40, 362)], 10, light)
        if clothes in ("vee", "shirt"):
            deep = top + (40 if clothes == "vee" else 20)
            self.fill([(0, top), (neck + 9, top + 1), (0, deep + 12)], dark)
            self.fill([(0, top), (neck + 1, top), (0, deep)], self.skin)
        else:
            self.fill(arc(0, top + 3, neck + 12, 20), dark)
            self.fill(arc(0, top + 2, neck + 3, 13), self.skin)
        self.fill([(0, 200), (neck, 200), (neck, top + 4), (0, top + 4)], self.skin)
        shade = smooth([(neck, 200), (neck, self.chin + 16), (0, self.chin + 16)])
        self.fill([(0, 200), *shade], mixed(self.skin, BROWN, 0.22))
        if clothes == "shirt":
            self.fill([(0, deep), (1, deep), (1, 410), (0, 410)], dark)
            flap = [(neck, top - 12), (neck + 13, top + 6), (32, top + 44), (0, top + 20)]
            self.fill(flap, light)
        if clothes == "hood":
            self.line(smooth([(22, top + 18), (24, top + 62)]), 4, light)

    def draw_head(self) -> None:
        x, y = self.at(1, 1.1)
        self.fill(arc(x + 2, y, 14, 19), self.skin)
        self.fill(arc(x + 4, y + 1, 6, 10), mixed(self.skin, BROWN, 0.22))
        dome = arc(0, self.eyes, self.half, self.eyes - self.top, 0, 90)
        power = 0.86 + 0.06 * self.kinds[0]
        curve = arc(0, 0, 1, -1, 90, 0)
        jaw = [(self.half * abs(x) ** power, self.below(y**power)) for x, y in curve]
        self.fill(dome + jaw, self.skin)
        if "beard" in self.extras:
            edge = [self.at(x, y) for x, y in ((1, 1), (0.9, 1.5), (0.5, 1.75), (0, 1.78))]
            self.fill(jaw + smooth(edge), mixed(self.hair, self.skin, 0.25))

    def draw_features(self) -> None:
        grown, x, y = self.grown, self.half * 0.43, self.eyes
        size, wide = 10 - 3.6 * grown, 15 + 6 * grown
        self.fill(arc(x, y, size, size * 1.2), "#21160f")
        self.line([(x + 1, y - size * 0.45)], size * 0.64, WHITE)
        if "glasses" in self.extras:
            self.line(arc(x, y + 4, 25, 21), 4, "#3a3f4a")
            self.line(smooth([(0, y - 3), (x - 25, y)]), 4, "#3a3f4a")
        y -= size + 12
        brow = smooth([(x - wide, y - 2 - 2 * self.kinds[1]), (x, y - 8), (x + wide, y + 2)])
        self.line(brow, 3 + 2 * grown, mixed(self.hair, BLACK, 0.12))
        x, y = self.half * 0.54, self.below(0.4)
        self.fill(arc(x, y, 15, 10), mixed(self.skin, RED, 0.17))
        if "freckles" in self.extras:
            spots = ((-10, -3), (1, -7), (11, -2), (-4, 3), (6, 4))
            self.line([(x + a, y + b) for a, b in spots], 3.4, mixed(self.skin, BROWN, 0.4))
        nose = arc(0, self.below(0.34), 7 + 2 * grown, -5, 0, 90)
        self.line(nose, 4, mixed(self.skin, BROWN, 0.32))
        wide, deep = 18 + 7 * grown + 2 * self.kinds[2], 9 + 3 * self.kinds[3]
        mouth = arc(0, self.below(0.6), wide, -deep, 12, 90)
        self.line(mouth, 5, mixed(self.skin, BROWN, 0.75))

    def draw_front(self) -> None:
        thick, *line = table(FRONTS)[self.front]
        wide, high = self.half + float(thick), self.eyes - self.top + float(thick)
        edge = smooth([self.at(*numbers(item)) for item in line])
        sides, start = (RIGHT, 180) if edge[-1][0] else (BOTH, 90)
        dome = [p for p in arc(0, self.eyes, wide, high, start, 0) if p[1] <= edge[0][1]]
        self.fill(dome + edge, self.hair, sides)
        if "band" in self.extras:
            self.line(arc(0, self.eyes, wide - 8, high - 8, 18, 90), 10, self.cloth)
        if "bow" in self.extras:
            self.fill([(0, self.top - 4), (26, self.top - 19), (26, self.top + 11)], self.cloth)
            self.line([(0, self.top - 4)], 14, mixed(self.cloth, BLACK, 0.18))


def main() -> None:
    for first_name, look in table(LOOKS).items():
        [page] = (HERE / "personas").glob(f"{first_name}-*.html")
        [(number, month)] = re.findall(r"Edad:</dt><dd>(\d+) (mes)?", page.read_text("utf-8"))
        face = Face(page.stem, int(number) / (12 if month else 1), look)
        face.draw_back(balls=False)
        face.draw_body()
        face.draw_back(balls=True)
        face.draw_head()
        face.draw_features()
        face.draw_front()
        image = face.image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        image = image.quantize(48, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        image.save(HERE / "fotos" / f"{page.stem}.png", optimize=True)


if __name__ == "__main__":
    main()
