"""A photo as it is kept: small, upright, without metadata.

bytes --photo_of--> JPEG
"""

from io import BytesIO

from PIL import Image, ImageOps

from scrape.fetch import PageError

FORMATS = ("GIF", "JPEG", "PNG", "WEBP")
LARGEST = (480, 600)  # pixels
SMALLEST = 24  # pixels a side; less is no photo
PIXELS = 40_000_000  # decoded at once; they take 500 MB at most


class NoPhoto(PageError):
    """There is no photo at an address, or none any more."""


def photo_of(body: bytes) -> bytes:
    """The image in `body`, of an animation the first, as a JPEG that fits into LARGEST. NoPhoto
    where it is of no FORMATS, broken, smaller than SMALLEST or larger than PIXELS."""
    try:
        with Image.open(BytesIO(body), formats=FORMATS) as image:
            image.draft("RGB", (2 * LARGEST[0], 2 * LARGEST[1]))  # of a JPEG, decode no more
            if image.width * image.height > PIXELS or min(image.size) < SMALLEST:
                raise NoPhoto(f"its image has {image.width} x {image.height} pixels")
            return shrink(image)
    except PageError:
        raise
    except Exception as error:  # a file may break a decoder in any way
        raise NoPhoto(f"its image cannot be read: {type(error).__name__}") from None


def shrink(image: Image.Image) -> bytes:
    if image.mode.startswith("I"):  # 16 bits a pixel
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    small = image.convert("RGBA" if has_alpha else "RGB")
    small.info = image.info  # it has the orientation
    small.thumbnail((max(LARGEST), max(LARGEST)))
    small = ImageOps.exif_transpose(small)
    small.thumbnail(LARGEST)
    # On an image of its own: what the register's says besides its pixels stays behind.
    photo = Image.new("RGB", small.size, "white")
    photo.paste(small, mask=small.getchannel("A") if has_alpha else None)
    jpeg = BytesIO()
    photo.save(jpeg, "JPEG", quality=82, optimize=True)
    return jpeg.getvalue()
