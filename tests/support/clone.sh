#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree as a stranger has it: copied into a folder with a blank in its path and nothing beside it, built by
# clang with sanitizers and without a warning, tested by a user who is not root, and the demo with what is installed.
# The one build of clang is the fuzzers', too, where their library is here; their kernels are plain.
#   clone.sh ROOT RESULTS     Meson's results, clone*.junit.xml, go to the folder RESULTS
# Status 0: they say what passed. 1: it does not build. 77: nobody can be such a user here; there are no results.
set -eu
root=$1
results=$2
clone=$(mktemp -d "${TMPDIR:-/tmp}/inlay test.XXXXXX")
trap 'rm -rf "$clone"' EXIT
trap 'exit 1' HUP INT TERM

# The user without rights that every system has, where we are root; else whoever runs this.
as_user()
{
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$clone/home" TMPDIR="$clone/tmp" "$@"
    else
        env TMPDIR="$clone/tmp" "$@"
    fi
}

mkdir "$clone/tree" "$clone/home" "$clone/tmp"
(cd "$root" && tar --exclude='./build*' --exclude='./.git' -cf - .) | tar -xf - -C "$clone/tree"
[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$clone" || exit 77
as_user test -w "$clone/tree" || exit 77
cd "$clone/tree"

CC=gcc
fuzzers=false
if command -v clang >/dev/null 2>&1 && echo 'int main(void) { return 0; }' | as_user clang -fsanitize=address -x c - -o "$clone/tmp/try" 2>/dev/null; then
    CC=clang
    [ ! -e "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a)" ] || fuzzers=true
else
    echo "clang's sanitizers are not here: gcc builds the clone"
fi
export CC
# Seconds of each fuzzer.
export INLAY_FUZZ_SECONDS="${INLAY_FUZZ_SECONDS:-10}"
show()
{
    "$@" >"$clone/log" 2>&1 || { tail -n 60 "$clone/log"; return 1; }
}
# Clang's fuzzers are linked without all that they use being known: -Db_lundef=false. -O1 is what they are quickest with.
show as_user meson setup build --buildtype=debug -Doptimization=1 -Dchecks=true -Dwerror=true -Dfuzzers=$fuzzers -Db_lundef=false
show as_user ninja -C build compiler/inlay
# Meson builds the programs of the tests that are named, and no others.
suites()
{
    log=$1
    shift
    as_user meson test -C build --logbase "$log" --print-errorlogs --timeout-multiplier 4 "$@" || true
    cp "build/meson-logs/$log.junit.xml" "build/meson-logs/$log.json" "$results"
}
suites clone --suite unit --suite golden --suite fuzzers --no-suite slots
# What fuzzers found stays.
find build -maxdepth 1 -type f -name 'fuzz-*' -exec cp {} "$results" ';'
suites clone-alone plan/place_bench bad-input prove report
unset CC
show as_user ./inlay-demo
tail -n 5 "$clone/log"
