"""The image's archive without the names that buildah generates for each build."""
import hashlib
import io
import json
import tarfile

RANDOM = ("container", "Hostname")


def plain(value):
    """The configuration without the names of the build container."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in RANDOM}
    return [plain(one) for one in value] if isinstance(value, list) else value


def settle(made, out, tag):
    """Writes the archive `made`, in the format of `docker load`, to `out`: layers, one configuration, and one tag."""
    with tarfile.open(made) as given, tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as tar:
        (manifest,) = json.load(given.extractfile("manifest.json"))
        config = json.dumps(plain(json.load(given.extractfile(manifest["Config"])))).encode()
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        for layer in manifest["Layers"]:
            add(tar, layer, given.getmember(layer).size, given.extractfile(layer))
        listed = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": manifest["Layers"]}]).encode()
        for place, content in ((name, config), ("manifest.json", listed)):
            add(tar, place, len(content), io.BytesIO(content))


def add(tar, name, size, content):
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    tar.addfile(info, content)
