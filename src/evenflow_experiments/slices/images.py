"""The papers' application: colour images to grayscale, with a real image library.

The evaluation of MAPE-SDDL sends colour images of about 7.3 kB and converts them to grayscale. Our
images are made here, the same on every machine: a picture of 640 x 480 with just enough detail to
be a JPEG of that size.
"""

from __future__ import annotations

import io
import time

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 640, 480
QUALITY = 25


def colour_jpeg(seed: int = 0) -> bytes:
    """A colour image as JPEG, about 7.3 kB."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(0, 255, (HEIGHT // 160, WIDTH // 160, 3)).astype(np.uint8)
    picture = Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    grain = rng.normal(0, 3.0, (HEIGHT, WIDTH, 1))
    pixels = np.clip(np.asarray(picture, np.float64) + grain, 0, 255).astype(np.uint8)
    return _jpeg(Image.fromarray(pixels))


def to_grayscale(jpeg: bytes) -> bytes:
    """Decode a JPEG, convert it to grayscale and encode it again."""
    with Image.open(io.BytesIO(jpeg)) as image:
        return _jpeg(image.convert("L"))


def image_s(rounds: int = 100) -> float:
    """CPU seconds that converting an image takes on this machine, now."""
    image = colour_jpeg()
    started = time.process_time()
    for _ in range(rounds):
        to_grayscale(image)
    return (time.process_time() - started) / rounds


def _jpeg(image: Image.Image) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "JPEG", quality=QUALITY)
    return encoded.getvalue()
