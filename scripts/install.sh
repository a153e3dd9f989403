#!/bin/sh
# Installs a release of lockstep for the current user: downloads the archive for this platform,
# verifies its checksum, and copies the program into a folder. It changes nothing else and needs no
# root.
#
#   sh install.sh [--version VERSION] [--to FOLDER]
#
# --version VERSION      such as 0.1.0; the latest release by default
# --to FOLDER            ~/.local/bin by default
#
# LOCKSTEP_DOWNLOAD_URL  the URL of the releases: http, https or file; the repository's by default. It
#                        has download/vVERSION/ and latest/download/, each with the archives and
#                        SHA256SUMS.
#
# Exit codes: 0 installed; 64 bad usage; 65 the checksum or the program is not the release's; 69 no
# archive for this platform, or a tool or the network is missing; 73 the folder cannot be written.
set -eu

releases=https://github.com/OWNER/lockstep/releases

fail() {
  code=$1
  shift
  echo "install: $*" >&2
  exit "$code"
}

usage() {
  echo "usage: install.sh [--version VERSION] [--to FOLDER]" >&2
  exit 64
}

# Prints this platform's name in archives.
platform() {
  case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) machine= ;;
  esac
  case $(uname -s),$machine in
  *,) ;;
  Linux,*) echo "$machine-unknown-linux-musl" && return ;;
  Darwin,*) echo "$machine-apple-darwin" && return ;;
  esac
  fail 69 "no archive for $(uname -s) on $(uname -m); build it: cargo install --locked --git ${releases%/releases} lockstep"
}

# download URL FILE
download() {
  case $1 in
  file://*) cp "${1#file://}" "$2" ;;
  *)
    # An https download must not be redirected to http.
    only=https
    case $1 in http://*) only=http,https ;; esac
    if command -v curl >/dev/null 2>&1; then
      curl --proto "=$only" --proto-redir "=$only" --fail --silent --show-error --location --retry 3 --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
      case $1 in
      http://*) wget --quiet --output-document "$2" "$1" ;;
      *) download_encrypted "$1" "$2" ;;
      esac
    else
      fail 69 "neither curl nor wget is installed"
    fi
    ;;
  esac
}

# download_encrypted HTTPS-URL FILE: with wget, which would follow a redirection from https to http.
download_encrypted() {
  wget --help 2>&1 | grep -q -e --max-redirect || fail 69 "this wget cannot refuse a redirection to http; install curl"
  url=$1
  for hop in 1 2 3 4 5 6 7 8 9 10; do
    case $url in https://*) ;; *) echo "install: $1 is redirected to $url, which is not https" >&2 && return 1 ;; esac
    answer=$(LC_ALL=C wget --no-verbose --server-response --max-redirect=0 --output-document "$2" "$url" 2>&1) && return 0
    # Relative or absolute.
    next=$(printf '%s\n' "$answer" | tr -d '\r' | sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' | sed -n 1p)
    case $next in
    '') printf '%s\n' "$answer" | sed -n '$p' >&2 && return 1 ;;
    /*) url=$(printf '%s\n' "$url" | sed 's,^\(https://[^/]*\).*,\1,')$next ;;
    *) url=$next ;;
    esac
  done
  echo "install: $1 has more than $hop redirections" >&2
  return 1
}

checksum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1"
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1"
  elif command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 -r "$1"
  else
    fail 69 "sha256sum, shasum and openssl are missing, so the checksum cannot be verified"
  fi
}

# The shell reads the whole function before it runs, so a truncated script does nothing.
main() {
  version=
  to=
  while [ $# -gt 0 ]; do
    case $1 in
    --version | --to) [ $# -ge 2 ] && [ -n "$2" ] || usage ;;
    -h | --help)
      echo "usage: install.sh [--version VERSION] [--to FOLDER]"
      exit 0
      ;;
    *) usage ;;
    esac
    case $1 in
    --version) version=${2#v} ;;
    --to) to=$2 ;;
    esac
    shift 2
  done
  case $version in *[!0-9A-Za-z.-]*) usage ;; esac
  [ -n "$to" ] || to=${HOME:?is not set; name a folder with --to}/.local/bin
  from=${LOCKSTEP_DOWNLOAD_URL:-$releases}
  if [ -n "$version" ]; then from=${from%/}/download/v$version; else from=${from%/}/latest/download; fi

  target=$(platform)
  archive=lockstep-$target.tar.gz
  work=$(mktemp -d)
  temporary=
  trap 'rm -rf "$work" ${temporary:+"$temporary"}' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  download "$from/SHA256SUMS" "$work/SHA256SUMS" || fail 69 "cannot download $from/SHA256SUMS; see which releases there are: $releases"
  download "$from/$archive" "$work/$archive" || fail 69 "cannot download $from/$archive"

  wanted=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1; exit }' "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail 65 "$from/SHA256SUMS does not name $archive; nothing was installed"
  found=$(checksum "$work/$archive")
  found=${found%% *}
  [ "$found" = "$wanted" ] || fail 65 "$archive has the checksum $found, and SHA256SUMS says $wanted; nothing was installed"

  tar -xzf "$work/$archive" -C "$work" "lockstep-$target/lockstep" || fail 65 "$archive holds no lockstep-$target/lockstep"
  said=$("$work/lockstep-$target/lockstep" --version) || fail 65 "the program in $archive does not run here"
  case $version,$said in
  ",lockstep "* | "$version,lockstep $version") ;;
  *) fail 65 "the program in $archive is '$said', not lockstep $version; nothing was installed" ;;
  esac

  # Replaced by an atomic rename, so that a running program is not affected.
  mkdir -p "$to" || fail 73 "cannot create $to"
  temporary=$to/.lockstep.$$
  cp "$work/lockstep-$target/lockstep" "$temporary" && chmod 755 "$temporary" && mv -f "$temporary" "$to/lockstep" ||
    fail 73 "cannot write $to/lockstep"
  echo "installed $said as $to/lockstep"
  case :${PATH:-}: in
  *":$to:"*) ;;
  *) echo "$to is not in your PATH; add it: export PATH=\"$to:\$PATH\"" ;;
  esac
}

main "$@"
