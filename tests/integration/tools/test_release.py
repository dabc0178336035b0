"""The files that tools/release publishes: two runs give the same bytes, checksums and signatures verify, apt reads the
repository, and clients install."""
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.server import BUILD, ROOT

LIBRARY = Path(os.environ.get("POSTERN_SO") or BUILD / "src/plugin/postern.so")


@pytest.fixture(scope="module")
def key():
    """A separate key, where gpg looks for it; its agent's socket needs a short path."""
    home = Path("/tmp") / f"postern-gpg-{os.getpid()}"
    home.mkdir(mode=0o700)
    environment = {**os.environ, "GNUPGHOME": str(home)}
    try:
        run(
            ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "x@example.invalid", "ed25519", "sign"],
            environment,
        )
        listed = run(["gpg", "--list-keys", "--with-colons"], environment)
        (found, *_) = [line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr")]
        yield {**environment, "POSTERN_SIGNING_KEY": found}
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def release(tmp_path_factory, key):
    out = tmp_path_factory.mktemp("release") / "out"
    run([ROOT / "tools/release", out, "--series", "10.11", "--plugin", LIBRARY, "--dirty"], key)
    return out


def run(command, environment=None, **more):
    done = subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, timeout=280, check=False, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_sums_and_signatures_hold(release, key):
    run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release)
    listed = {line.split("  ")[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    there = {str(path.relative_to(release)) for path in release.rglob("*") if path.is_file()}
    assert there - listed == {"SHA256SUMS", "SHA256SUMS.asc"}
    run(["gpg", "--verify", release / "SHA256SUMS.asc", release / "SHA256SUMS"], key)
    suite = release / "apt/dists/bookworm"
    run(["gpg", "--verify", suite / "Release.gpg", suite / "Release"], key)
    run(["gpg", "--verify", suite / "InRelease"], key)


def test_an_image_has_no_names_of_its_build(tmp_path):
    """Two builds of the same files, as buildah leaves them."""
    sys.path.insert(0, str(ROOT / "packaging"))
    from release import image

    made = []
    for chance in ("a1", "b2"):
        config = {
            "config": {"Hostname": chance, "Cmd": ["mariadbd"]},
            "container": chance,
            "rootfs": {"diff_ids": ["x"]},
        }
        manifest = [{"Config": f"{chance}.json", "RepoTags": [f"localhost/{chance}"], "Layers": ["1.tar", "2.tar"]}]
        contents = {"1.tar": b"one", "2.tar": b"two" * 9000, f"{chance}.json": json.dumps(config).encode()}
        contents |= {"manifest.json": json.dumps(manifest).encode(), f"{chance}/VERSION": b"1.0"}
        with tarfile.open(tmp_path / f"{chance}.tar", "w") as tar:
            for name, content in contents.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        image.settle(tmp_path / f"{chance}.tar", tmp_path / "out", "postern:1")
        made.append((tmp_path / "out").read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "out") as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json"))
        config = tar.extractfile(manifest["Config"]).read()
        assert hashlib.sha256(config).hexdigest() + ".json" == manifest["Config"]
        assert json.loads(config) == {"config": {"Cmd": ["mariadbd"]}, "rootfs": {"diff_ids": ["x"]}}
        assert manifest["RepoTags"] == ["postern:1"]
        assert [tar.extractfile(layer).read() for layer in manifest["Layers"]] == [b"one", b"two" * 9000]


def test_another_machine_compares_its_own(release, tmp_path):
    """On a machine without the key. If a release differs in two files, exactly those are reported: all others have the
    same bytes as those of the first release."""
    make = [ROOT / "tools/release", tmp_path / "out", "--series", "10.11", "--plugin", LIBRARY, "--dirty", "--like"]
    sums = (release / "SHA256SUMS").read_text().splitlines(keepends=True)
    sums = [line for line in sums if "Release.gpg" not in line and "InRelease" not in line]
    changed = [("0" * 64 + line[64:] if line.endswith("  postern\n") else line) for line in sums[1:]]
    (tmp_path / "sums").write_text("".join(changed))
    done = subprocess.run([*make, tmp_path / "sums"], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"says: {sums[0].split()[1]}, postern\n"), done.stderr


def test_apt_reads_the_repository(release, key, tmp_path):
    """With its signature verified."""
    keyring = tmp_path / "postern.gpg"
    keyring.write_bytes(subprocess.run(["gpg", "--export"], env=key, check=True, capture_output=True).stdout)
    shutil.copytree(release / "apt", tmp_path / "apt")
    (tmp_path / "sources.list").write_text(f"deb [signed-by={keyring}] file:{tmp_path}/apt bookworm main\n")
    for folder in ("lists/partial", "cache/archives/partial"):
        (tmp_path / folder).mkdir(parents=True)
    options = [
        f"Dir::Etc::sourcelist={tmp_path}/sources.list",
        "Dir::Etc::sourceparts=-",
        f"Dir::State::lists={tmp_path}/lists",
        f"Dir::Cache={tmp_path}/cache",
        "APT::Sandbox::User=root",
    ]
    options = [word for option in options for word in ("-o", option)]
    run(["apt-get", *options, "update", "--error-on=any"])
    offered = run(["apt-cache", *options, "madison", "postern-mariadb-10.11", "postern-source"])
    assert "postern-mariadb-10.11 |" in offered and "postern-source |" in offered
    run(["apt-get", *options, "download", "postern-source"], cwd=tmp_path)
    (package,) = tmp_path.glob("postern-source_*.deb")
    assert package.read_bytes() == next(release.glob("apt/pool/postern-source_*.deb")).read_bytes()
    index = tmp_path / "apt/dists/bookworm/main/binary-amd64/Packages"
    index.write_text(index.read_text().replace("Package: postern-source", "Package: postern-sourcf"))
    index.with_name("Packages.gz").unlink()
    shutil.rmtree(tmp_path / "lists")
    (tmp_path / "lists/partial").mkdir(parents=True)
    changed = subprocess.run(
        ["apt-get", *options, "update", "--error-on=any"], capture_output=True, timeout=60, check=False
    )
    assert changed.returncode != 0


def test_the_bill_names_every_file_with_its_sum(release):
    bill = json.loads((release / "bom.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    sums = {one["name"]: one["hashes"][0]["content"] for one in bill["components"] if one["type"] == "file"}
    for name, expected in sums.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == expected
    assert len(sums) >= 12
    names = {one["name"] for one in bill["components"]}
    assert {"pymysql", "sqlglot", "libssl3"} <= names
    assert len({one["bom-ref"] for one in bill["components"]}) == len(bill["components"])


def test_clients_install(release, tmp_path):
    (wheel,) = release.glob("clients/posterndb-*.whl")
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", tmp_path, wheel])
    run([sys.executable, "-c", "import posterndb; print(posterndb.__version__)"], {"PYTHONPATH": str(tmp_path)})
    for archive, wanted in (("posterndb-*.tar.gz", "PKG-INFO"), ("Net-HandlerSocket-*.tar.gz", "META.json")):
        (file,) = release.glob(f"clients/{archive}")
        with tarfile.open(file) as tar:
            assert any(name.endswith(f"/{wanted}") for name in tar.getnames())
            assert {(info.uid, info.uname) for info in tar} == {(0, "")}


def test_the_source_archive_is_whole(release):
    (file,) = release.glob("source/*.tar.gz")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(file) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert names == {name for name in listed.splitlines() if (ROOT / name).is_file()}
