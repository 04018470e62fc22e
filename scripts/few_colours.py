"""Write a screenshot as a PNG with 256 colours: a third of the size, with no visible change."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Browser

COLOURS = 256
_PIXELS = """async (picture) => {
  const bitmap = await createImageBitmap(await (await fetch(picture)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const address = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(new Blob([data]));
  });
  return [bitmap.height, bitmap.width, address.slice(address.indexOf(",") + 1)];
}"""
"""Decodes a PNG in the browser, so that no image library is needed."""


def write(browser: Browser, picture: bytes, path: Path) -> None:
    """Write a PNG with its most frequent colours; the others become the nearest of these."""
    page = browser.new_page()
    address = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    height, width, content = page.evaluate(_PIXELS, address)
    page.close()
    pixels = np.frombuffer(base64.b64decode(content), np.uint8).reshape(height, width, 4)
    palette, places = _quantize(pixels[..., :3].reshape(-1, 3))
    path.write_bytes(_png(palette, places.reshape(height, width)))


def _quantize(
    pixels: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The palette (k x 3), and the index of each pixel (n) in it."""
    red, green, blue = pixels.astype(np.int64).T
    packed = red << 16 | green << 8 | blue  # sorting numbers is faster than sorting colours
    found, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    palette = colours[np.argsort(-counts, kind="stable")[:COLOURS]]
    nearest = [int(np.argmin(((palette - colour) ** 2).sum(axis=1))) for colour in colours]
    return palette.astype(np.uint8), np.array(nearest, np.uint8)[places]


def _png(palette: npt.NDArray[np.uint8], places: npt.NDArray[np.uint8]) -> bytes:
    height, width = places.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), places])  # each begins with "no filter"
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
