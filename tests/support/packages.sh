# SPDX-License-Identifier: Apache-2.0
# For inlay-demo and inlay-test (sourced): installs missing packages of Debian or Ubuntu.
#   need PACKAGE...   must be there: the script ends where they cannot be installed
#   want PACKAGE...   tests that lack one are skipped

is_installed()
{
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing()
{
    for package in "$@"; do
        is_installed "$package" || printf '%s ' "$package"
    done
}

as_root()
{
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else
        echo "$0: this needs root: run as root or install sudo; to do it by hand: $*" >&2
        return 1
    fi
}

# Lists that are old name files that are gone: they are made new once, before the first installation.
update_lists()
{
    [ -n "${lists_are_new:-}" ] && return 0
    lists_are_new=1
    as_root apt-get -q -o Acquire::Retries=3 update >/dev/null || echo "$0: apt-get update failed, going on with the lists at hand" >&2
}

apt_install()
{
    as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
        apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 \
        install --no-install-recommends "$@" >/dev/null
}

have_apt()
{
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1
}

need()
{
    if ! have_apt; then
        echo "$0: no apt here; assuming that these are installed: $*"
        return 0
    fi
    list=$(missing "$@")
    [ -z "$list" ] && return 0
    echo "Installing: $list"
    update_lists
    # shellcheck disable=SC2086
    apt_install $list || { echo "$0: could not install: $list" >&2; exit 1; }
}

want()
{
    have_apt || return 0
    list=$(missing "$@")
    [ -z "$list" ] && return 0
    echo "Installing for tests: $list"
    update_lists
    # shellcheck disable=SC2086
    apt_install $list && return 0
    for package in $list; do
        apt_install "$package" || echo "$0: $package cannot be installed; tests that use it are skipped"
    done
}
