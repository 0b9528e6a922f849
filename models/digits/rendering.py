# SPDX-License-Identifier: Apache-2.0
"""Pictures of printed digits: light on dark, 28 x 28, grey 0..255.

Each picture has a type face, size, angle, place, sharpness, contrast and noise
of its own.
"""

import re
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = Path("/usr/share/fonts/truetype")
SIDE = 28
FINE = 4 * SIDE  # drawn this large, then averaged down

# Files are <family>-<style>.ttf.  Relatives stay on one side: Carlito is drawn
# after Lato, Hack after DejaVu Sans Mono, Open Sans and Noto Sans share a root.
TRAIN_FAMILIES = [
    "Carlito",
    "Comfortaa",
    "DejaVuSans",
    "DejaVuSansMono",
    "DejaVuSerif",
    "FiraCode",
    "FreeMono",
    "FreeSans",
    "FreeSerif",
    "Hack",
    "Lato",
    "LiberationMono",
    "LiberationSans",
    "LiberationSerif",
    "NotoMono",
    "NotoSans",
    "NotoSansMono",
    "NotoSerif",
    "OpenSans",
]
TEST_FAMILIES = ["Caladea", "JetBrainsMono", "Quicksand", "Roboto"]
STYLE = (
    r"-?(Regular|Medium|Light|Semi-?[Bb]old|Bold|Italic|Oblique|MediumItalic|LightItalic|"
    r"Semi[Bb]oldItalic|BoldItalic|BoldOblique)?\.ttf"
)


def faces(family):
    """Thinner and heavier styles than Light and Bold are left out."""
    files = [f for f in FONTS.rglob("*.ttf") if re.fullmatch(family + STYLE, f.name)]
    assert files, f"no font of the family {family}"
    return sorted(files, key=lambda f: f.name)


def draw(rng, digit, font):
    """A white digit on black, turned and moved, FINE x FINE."""
    image = Image.new("L", (FINE, FINE))
    left, top, right, bottom = font.getbbox(digit)
    place = (FINE - left - right) / 2, (FINE - top - bottom) / 2
    ImageDraw.Draw(image).text(place, digit, 255, font)
    shift = rng.uniform(-0.1, 0.1, 2) * FINE
    return image.rotate(rng.uniform(-12, 12), Image.Resampling.BILINEAR, translate=tuple(shift))


def photograph(rng, image):
    """As a small, dim, noisy camera would see it."""
    blurred = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.03) * FINE))
    ink = np.asarray(blurred.resize((SIDE, SIDE), Image.Resampling.BOX)) / 255
    dark, light = rng.uniform(0, 0.25), rng.uniform(0.55, 1)
    noise = rng.normal(0, rng.uniform(0, 0.08), ink.shape)
    return np.rint((dark + (light - dark) * ink + noise).clip(0, 1) * 255).astype(np.uint8)


def render_set(rng, families, count):
    """Images [count][1][28][28] and labels [count]; families are equally likely."""
    library = [faces(family) for family in families]
    labels = rng.integers(0, 10, count)
    images = np.empty((count, 1, SIDE, SIDE), np.uint8)
    for image, digit in zip(images, labels):
        files = library[rng.integers(len(library))]
        size = FINE * rng.uniform(0.75, 1.1)
        font = ImageFont.truetype(files[rng.integers(len(files))], size)
        image[0] = photograph(rng, draw(rng, str(digit), font))
    return images, labels
