#!/bin/sh
# Installs what a build and its tests need on Debian 12. Safe to repeat; does nothing if all is there.
set -eu
packages="g++ cmake python3 ninja-build ccache mold pkg-config make
  libfmt-dev libcli11-dev libsimdjson-dev libxxhash-dev libre2-dev libpcre2-dev libcctz-dev tzdata
  libzstd-dev zlib1g-dev libsqlite3-dev sqlite3 libcpp-httplib-dev libyaml-cpp-dev nlohmann-json3-dev librocksdb-dev libedit-dev librdkafka-dev libpq-dev libhiredis-dev
  libgtest-dev libgmock-dev librapidcheck-dev python3 openjdk-17-jre-headless maven postgresql-15 postgresql-client-15 redis-server"
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "dependencies: all installed"
  exit 0
fi
echo "dependencies: installing$missing"
sudo=$( [ "$(id -u)" = 0 ] || echo sudo )
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing > /dev/null
echo "dependencies: done"
