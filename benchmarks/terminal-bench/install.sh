#!/bin/sh
# Installs Node and Libero in the container of a task. $1 is what npm installs: a tarball, or a name with a version.
set -eu
package=${1:-libero@latest}
node_version=v24.11.1

has_node() {
  command -v node >/dev/null 2>&1 && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number)
    process.exit(major > 22 || (major === 22 && minor >= 18) ? 0 : 1)'
}

if ! has_node; then
  if ! command -v curl >/dev/null 2>&1 || ! command -v xz >/dev/null 2>&1; then
    if command -v apt-get >/dev/null 2>&1; then
      apt-get update -qq && apt-get install -y -qq curl xz-utils ca-certificates
    elif command -v apk >/dev/null 2>&1; then
      apk add --no-cache nodejs npm curl xz # the builds of nodejs.org do not run on musl
    elif command -v dnf >/dev/null 2>&1; then
      dnf install -y -q curl xz
    else
      echo "install.sh: there is neither Node 22.18 nor a known package manager" >&2
      exit 1
    fi
  fi
  if ! has_node; then
    case $(uname -m) in
      x86_64) arch=x64 ;;
      aarch64 | arm64) arch=arm64 ;;
      *) echo "install.sh: no build of Node for $(uname -m)" >&2 && exit 1 ;;
    esac
    curl -fsSL "https://nodejs.org/dist/$node_version/node-$node_version-linux-$arch.tar.xz" |
      tar -xJ -C /usr/local --strip-components=1
  fi
fi

npm install --global --no-audit --no-fund "$package"
libero --version
