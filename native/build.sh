#!/usr/bin/env bash
# Compiles the addon into prebuilds/, which is committed; nobody's machine compiles it at install.
#   native/build.sh                                    for this machine
#   CC=aarch64-linux-gnu-gcc native/build.sh arm64     for another processor
# Needs a C compiler and the headers that come with Node (NODE_INCLUDE names another folder with node_api.h).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
arch="${1:-$(node -p process.arch)}"
include="${NODE_INCLUDE:-$(node -p 'path.resolve(fs.realpathSync(process.execPath), "../../include/node")')}"
out="prebuilds/linux-$arch/railhead.node"
mkdir -p "$(dirname "$out")"
# Linked against nothing: the C library's functions are the running process's own, so one file serves old and new glibc, and musl.
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-stack-protector -fno-asynchronous-unwind-tables \
  -shared -nostdlib -Wl,-s,-z,noseparate-code,--build-id=none,--hash-style=both -isystem "$include" railhead.c -o "$out"
wc -c "$out"
