"""The register's images: fetch those that are due, and make a small JPEG of each.

    id -> address --fetch_photos--> id, digest, JPEG
    bytes --photo_of--> JPEG: small, upright, without metadata

What goes wrong with an image costs that image alone.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from warnings import catch_warnings

from PIL import Image, ImageOps

from scrape.address import page_of
from scrape.fetch import PAGE_SECONDS, Fetcher, NoAnswer, PageError, Refused, time_limit

FORMATS = ("GIF", "JPEG", "PNG", "WEBP")
LARGEST = (480, 600)  # pixels
SMALLEST = 24  # pixels a side; less is no photo
PIXELS = 40_000_000  # decoded at once; they take 500 MB at most
SECONDS = 3600.0  # of a run for all photos: a small image can take PAGE_SECONDS of CPU
UNANSWERED = 5  # so many in a row, and the register is left alone
TRIED = 10  # so many images are fetched by a dry run

log = logging.getLogger("persona404.photos")
logging.getLogger("PIL").setLevel(logging.CRITICAL)  # an image can make it write a line a tag


class NoPhoto(PageError):
    """What is at an address is no photo of the child."""


def fetch_photos(
    fetcher: Fetcher,
    due: Sequence[str],
    addresses: Mapping[str, str],
    progress: Callable[[str], None],
    faults: Counter[str],
) -> Iterator[tuple[str, str | None, bytes | None]]:
    """Fetch the images of the ids in `due`; `addresses` are all photos', by id; `faults` are
    counted. Each id with the digest of the register's bytes and the JPEG, which is None if the
    image is not to be kept; the digest is "" if the register has no photo any more, None if that is
    not known now. Ends early if the register does not answer, and after SECONDS."""
    fetcher.run_ends = min(fetcher.run_ends, time.monotonic() + SECONDS)
    pages = {page_of(address) for address in addresses.values()}
    unanswered = 0  # in a row
    for count, id in enumerate(due, 1):
        progress(f"photo {count} of {len(due)}")
        digest, jpeg, refusal = None, None, ""
        try:
            digest, jpeg = fetch_photo(fetcher, addresses[id], pages)
            unanswered = 0
            if jpeg is None:
                faults["it leads to another child's"] += 1
        except PageError as error:
            faults[str(error)] += 1
            if isinstance(error, NoPhoto) or error.status in (404, 410):
                digest = ""
            unanswered = unanswered + 1 if isinstance(error, NoAnswer) else 0
            if unanswered == UNANSWERED:
                refusal = f"{UNANSWERED} in a row were not answered"
        except Refused as error:
            refusal = str(error)
            faults[refusal] += 1
        yield id, digest, jpeg
        if refusal:
            log.warning("photos: the rest waits: %s", refusal)
            return


def fetch_photo(fetcher: Fetcher, address: str, pages: set[str]) -> tuple[str, bytes | None]:
    """The digest of the image at `address`, and the photo as it is kept, None where it leads to
    another of `pages`, as page_of(). NoPhoto where it is none; else errors as Fetcher.get()."""
    try:
        with time_limit(PAGE_SECONDS):
            page = fetcher.get(address, is_image=True)
            if fetcher.profile.means_no_photo(page.url):
                raise NoPhoto("it leads to the register's image for no photo")
            # A query may be one of caching: a child's photo is there without it.
            ends = {page_of(page.url), page_of(page.url.partition("?")[0])}
            is_another = (ends & pages) - {page_of(address)}
            return sha256(page.body).hexdigest(), None if is_another else photo_of(page.body)
    except (PageError, Refused):
        raise
    except Exception as error:  # an unforeseen one costs this photo only
        raise PageError(type(error).__name__) from None


def try_photos(fetcher: Fetcher, addresses: Mapping[str, str]) -> str:
    """How many photos the service could keep, by the first TRIED of them; why not the others."""
    if not addresses:
        return "nobody has the address of one: is `foto` right?"
    faults = Counter[str]()
    photos = fetch_photos(fetcher, [*addresses][:TRIED], addresses, lambda line: None, faults)
    kept = [jpeg is not None for _, _, jpeg in photos]
    reasons = "".join(f"; {count} cannot: {fault}" for fault, count in faults.most_common())
    hint = '; see "Photos" in registers/README.md' if faults else ""
    counts = f"the first {len(kept)} were tried: {sum(kept)} can be kept{reasons}{hint}"
    return f"{len(addresses)} persons have the address of one; {counts}"


def photo_of(body: bytes) -> bytes:
    """The image in `body`, of an animation the first, as a JPEG that fits into LARGEST. NoPhoto
    where it is of no FORMATS, broken, smaller than SMALLEST or larger than PIXELS."""
    try:
        with catch_warnings(action="ignore"), Image.open(BytesIO(body), formats=FORMATS) as image:
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
