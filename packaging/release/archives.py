"""Reproducible archives: sorted names, one date, no owner."""
import gzip
import io
import pathlib
import tarfile
import zipfile
from datetime import datetime, timezone


def entries_of(folder):
    """(name, bytes, whether it is executable) of every file below a folder, sorted."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes(), bool(path.stat().st_mode & 0o100)


def write_tar(path, prefix, entries, date):
    """A .tar.gz whose files lie below the folder `prefix`."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, executable in sorted(entries):
            info = tarfile.TarInfo(f"{prefix}/{name}")
            info.size, info.mtime, info.mode = len(content), date, 0o755 if executable else 0o644
            tar.addfile(info, io.BytesIO(content))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(plain.getvalue())


def write_zip(path, entries, date):
    when = datetime.fromtimestamp(date, timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, content, executable in sorted(entries):
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (0o755 if executable else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, content)


def pack_again(path, date):
    """A .tar.gz that another program made, without its time and owner."""
    with tarfile.open(path) as tar:
        files = [
            (info.name.partition("/")[2], tar.extractfile(info).read(), bool(info.mode & 0o100))
            for info in tar
            if info.isfile()
        ]
        prefix = tar.getnames()[0].partition("/")[0]
    write_tar(path, prefix, files, date)
