#!/usr/bin/env python3
"""What the binary is made of, as CycloneDX 1.6 JSON on standard output: python3 .ci/sbom.py > toolbatch.cdx.json

Read from Cargo.lock by `cargo metadata`, for one target. Crates that are linked have the scope "required", those that only run at build
time "excluded"; those of tests and benches are left out. The same sources give the same bytes: there is no time and no serial number.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-gnu"


def metadata(target):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def reach(nodes, root, kinds):
    """The packages that `root` depends on through dependencies of these kinds; None is a normal one."""
    seen, waiting = set(), [root]
    while waiting:
        package = waiting.pop()
        if package not in seen:
            seen.add(package)
            waiting += [dep["pkg"] for dep in nodes[package]["deps"] if kinds & {kind["kind"] for kind in dep["dep_kinds"]}]
    return seen - {root}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums, scope):
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": scope,
        # Older manifests write "A/B", which is no SPDX expression.
        "licenses": [{"expression": re.sub(r"\s*/\s*|\s+OR\s+", " OR ", package["license"])}],
        "purl": purl(package),
    }
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def bom(target):
    data = metadata(target)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = data["resolve"]["root"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock["package"]}

    linked = reach(nodes, root, {None})
    built = reach(nodes, root, {None, "build"}) - linked
    known = linked | built | {root}
    order = sorted(linked | built, key=lambda package: (packages[package]["name"], packages[package]["version"]))
    components = [component(packages[id], checksums, "required" if id in linked else "excluded") for id in order]

    def depends_on(package):
        kinds = {None, "build"}
        deps = [dep["pkg"] for dep in nodes[package]["deps"] if kinds & {kind["kind"] for kind in dep["dep_kinds"]}]
        return sorted({purl(packages[dep]) for dep in deps if dep in known})

    own = packages[root]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": purl(own),
                "name": own["name"],
                "version": own["version"],
                "licenses": [{"expression": own["license"]}],
                "purl": purl(own),
            },
            "properties": [{"name": "toolbatch:target", "value": target}],
        },
        "components": components,
        "dependencies": [{"ref": purl(packages[id]), "dependsOn": depends_on(id)} for id in [root, *order]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default=TARGET, help=f"the target triple (default: {TARGET})")
    json.dump(bom(parser.parse_args().target), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
