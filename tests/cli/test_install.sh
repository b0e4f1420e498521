# make install: staged below DESTDIR, then programs built against it by pkg-config and by find_package(calque), with the
# shared and with the static library.
. "$(dirname "$0")/common.sh"

build=$(dirname "$PROGRAM")
if ! grep -q '^CALQUE_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
  echo "skipped: programs outside this build are not compiled with its sanitizers"
  exit 0
fi
DESTDIR=$tmp/staged cmake --install "$build" --prefix /opt/calque >log 2>&1 || { cat log; fail "cmake --install"; finish; }
prefix=$tmp/staged/opt/calque
[ "$(ls "$tmp/staged")" = opt ] || fail "something was installed outside the prefix: $(ls "$tmp/staged")"
pc=$(find "$prefix" -name calque.pc)
export PKG_CONFIG_PATH=$(dirname "$pc")
[ "$("$prefix/bin/calque" --version)" = "calque $(pkg-config --modversion calque)" ] || fail "program and package differ in version"
pkg-config --exists calque || fail "pkg-config does not find calque"
examples=$prefix/share/doc/calque/examples
for example in encode_and_compare evaluate; do
  cc -std=c11 -o pc-$example "$examples/$example.c" $(pkg-config --cflags --libs calque) 2>log ||
    { cat log; fail "$example does not build by pkg-config"; }
done
libdir=$(pkg-config --variable=libdir calque)
case $(pkg-config --libs calque) in *sentencepiece*) fail "users of the shared library link what it links" ;; esac
cc -std=c11 -o static-encode "$examples/encode_and_compare.c" $(pkg-config --cflags calque) \
  $(pkg-config --static --libs calque | sed 's/-lcalque /-l:libcalque.a /') 2>log ||
  { cat log; fail "the example does not build with the static library"; }
./static-encode "$TEACHER" >stdout 2>stderr || fail "the example with the static library fails"
stdout_has "1.000  The dog sleeps."
readelf -d static-encode | grep -q libcalque && fail "it is linked with the shared library"
LD_LIBRARY_PATH=$libdir ./pc-encode_and_compare "$TEACHER" >stdout 2>stderr || fail "the example fails"
stdout_has "1.000  The dog sleeps."

mkdir project
cp "$SOURCE/examples/encode_and_compare.c" project/
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(calque 0.2 REQUIRED)
add_executable(user encode_and_compare.c)
target_link_libraries(user PRIVATE calque::calque)
add_executable(user_static encode_and_compare.c)
target_link_libraries(user_static PRIVATE calque::static)
END
{ cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" && cmake --build project/build; } >log 2>&1 ||
  { cat log; fail "the CMake package does not work"; }
for example in user user_static; do
  project/build/$example "$TEACHER" >stdout 2>stderr || fail "the example built by CMake fails: $example"
  stdout_has "1.000  The dog sleeps."
done

# The manual is where man and the shells look for it.
for file in man/man1/calque.1 man/man1/calque-model-new.1 bash-completion/completions/calque zsh/site-functions/_calque \
  fish/vendor_completions.d/calque.fish doc/calque/README.md doc/calque/docs/guides/serve.md; do
  [ -s "$prefix/share/$file" ] || fail "share/$file is not installed"
done

# The model that commands take where none is named, found from wherever the program is.
echo "The dog sleeps." | "$prefix/bin/calque" encode >stdout 2>stderr || fail "the installed program does not find its model"
stdout_has '"embedding"'

# The plugin for the network is found as well: what is said is said by libcurl.
if [ -e "$build/src/libcalque_curl.so" ]; then
  HF_HOME=$tmp/home HF_ENDPOINT=http://127.0.0.1:1 "$prefix/bin/calque" model get org/model >stdout 2>stderr &&
    fail "a model comes from nowhere"
  stderr_has "http://127.0.0.1:1/api/models/org/model"
fi

# The plugin is found beside the library, and nowhere else is one.
if [ -f "$build/src/libcalque_faiss.so" ]; then
  seq 300 | sed 's/^/sentence /' >lines.txt
  "$prefix/bin/calque" index new here.index >log 2>&1 && "$prefix/bin/calque" index add here.index lines.txt >log 2>&1 &&
    "$prefix/bin/calque" index approximate here.index >log 2>&1 || { cat log; fail "the installed plugin is not found"; }
fi

# What make install says at its end.
SOURCE_SCRIPT=$SOURCE/scripts/after-install
bash "$SOURCE_SCRIPT" "$build" "$tmp/staged" >stdout || fail "after-install, staged"
stdout_has "installed to $tmp/staged/"
mkdir fake
printf '%s\n' CMAKE_INSTALL_PREFIX:PATH=/opt/nowhere CMAKE_INSTALL_LIBDIR:PATH=lib >fake/CMakeCache.txt
bash "$SOURCE_SCRIPT" fake >stdout || fail "after-install"
stdout_has "export LD_LIBRARY_PATH=/opt/nowhere/lib"
stdout_has "export PKG_CONFIG_PATH=/opt/nowhere/lib/pkgconfig"

# The service starts the program that is installed.
if [ "$(uname)" = Linux ]; then
  unit=$prefix/lib/systemd/system/calque.service
  grep -q "^ExecStart=/.*/bin/calque serve " "$unit" || fail "the unit for systemd does not start the program"
fi

# Every public header compiles alone, in C and in C++.
for header in "$prefix"/include/calque/*.h "$prefix"/include/calque/extra/*.h; do
  cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c -I"$prefix/include" "$header" || fail "$header alone, in C"
  c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I"$prefix/include" "$header" || fail "$header alone, in C++"
done
finish
