"""The bill of materials of a release, in CycloneDX format."""
import hashlib
import json
import re
import subprocess
import uuid
from datetime import datetime, timezone

from release.repository import SIGNATURES


def parts_of_the_tool(requirements):
    """The components of the tool postern, from cli/requirements.txt."""
    for name, version, digest in re.findall(r"^([\w-]+)==(\S+) --hash=sha256:(\w+)", requirements.read_text(), re.M):
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }


def libraries_of(packages):
    """The packages that our packages depend on, by name."""
    names = set()
    for package in packages:
        depends = subprocess.run(
            ["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True
        ).stdout
        names |= {re.match(r"[\w.+-]+", one.strip())[0] for one in depends.split(",")}
    for name in sorted(names):
        yield {"type": "library", "bom-ref": f"pkg:deb/debian/{name}", "name": name, "purl": f"pkg:deb/debian/{name}"}


def write(path, out, version, date, requirements, packages):
    """The bill: every file of the release below `out` except signatures is a component, with its sum."""
    files = [
        {
            "type": "file",
            "bom-ref": one.relative_to(out).as_posix(),
            "name": one.relative_to(out).as_posix(),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(one.read_bytes()).hexdigest()}],
        }
        for one in sorted(out.rglob("*"))
        if one.is_file() and not one.as_posix().endswith(SIGNATURES)
    ]
    components = [*files, *parts_of_the_tool(requirements), *libraries_of(packages)]
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(date, timezone.utc).isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": "postern",
                "name": "postern",
                "version": version,
                "licenses": [{"license": {"id": "GPL-2.0-only"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": "postern", "dependsOn": sorted(one["bom-ref"] for one in components)}],
    }
    path.write_text(json.dumps(bill, indent=1) + "\n")
