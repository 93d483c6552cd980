#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/versions/check-kernels fetches kernels and counts.  apt, dpkg
# and the system tests are made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-kernels.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out
. tests/harness/tap.sh
. tests/harness/debian.sh

mkdir -p "$tree"/tests/{versions,system} "$dir"/{bin,build}
cp "$source"/tests/versions/{check-kernels,debian-packages} \
    "$tree/tests/versions/"
cat > "$tree/tests/system/check-system" << END
#!/bin/bash
echo "\$*" >> "$dir/guests"
cat "$dir/tap"
exit \$(cat "$dir/status")
END
make_apt "$dir/bin" "$dir/apt"
# The kernel of release "sid" is in several packages.
cat > "$dir/bin/apt-cache" << 'END'
#!/bin/bash
case ${*: -1} in
linux-image-amd64)
    printf 'linux-image-amd64\n  Depends: linux-image-6.99-amd64\n' ;;
linux-image-6.99-amd64)
    printf 'linux-image-6.99-amd64\n  Depends: linux-initramfs-tool\n'
    case " $* " in
    */sid/*) printf '  Depends: linux-%s-6.99-amd64\n' binary modules ;;
    esac ;;
esac
END
# Newer releases have all in /usr.
cat > "$dir/bin/dpkg-deb" << 'END'
#!/bin/bash
modules=$3/usr/lib/modules/6.99-amd64
case $2 in
*/sid/*/linux-image-6.99-amd64_*) ;;
*/linux-image-6.99-amd64_*)
    mkdir -p "$3/boot" "$modules"
    touch "$3/boot/vmlinuz-6.99-amd64" ;;
*/linux-modules-6.99-amd64_*) mkdir -p "$modules" ;;
*/linux-binary-6.99-amd64_*) mkdir -p "$modules"; touch "$modules/vmlinuz" ;;
*) exit 1 ;;
esac
END
cat > "$dir/bin/depmod" << 'END'
#!/bin/bash
[ "$1 $3" = '-b 6.99-amd64' ] && touch "$2/lib/modules/$3/modules.dep"
END
chmod +x "$tree/tests/system/check-system" "$dir/bin"/*

# Has the system tests print $2 and return $1.
tests_say () {
    echo "$1" > "$dir/status"
    printf '%b' "$2" > "$dir/tap"
    : > "$dir/guests"
}

run () {
    PATH=$dir/bin:$PATH "$tree/tests/versions/check-kernels" \
        --builddir "$dir/build" "$@" > "$out" 2>&1
    status=$?
}

# Succeeds if the status is $1, $2 results are ok, and $3 are not.
counted () {
    [ $status -eq "$1" ] && [ "$(grep -c '^ok ' "$out")" -eq "$2" ] \
        && [ "$(grep -c '^not ok ' "$out")" -eq "$3" ] \
        && grep -qx "1\\.\\.$(($2 + $3))" "$out"
}

echo 1..9
tests_say 0 'TAP version 13\n1..2\nok 1 - system: a\nok 2 - system: b\n'
run
kernels=$dir/build/kernels
counted 0 3 0 && grep -q '^ok 1 - bookworm-backports: fetch$' "$out" \
    && grep -q '^ok 3 - bookworm-backports: system: b$' "$out" \
    && grep -q -- "--kernel $kernels/bookworm-backports/kernel" "$dir/guests" \
    && [ -e "$kernels/bookworm-backports/kernel" ]
result 'a kernel is fetched, unpacked and tested'
! grep -v indextargets "$dir/apt" \
    | grep -vE "Dir::Etc::sourceparts=- .*Dir::State::lists=$dir/build"
result 'a package is fetched with files of its own'
lines=$(wc -l < "$dir/apt")
run bookworm-backports
counted 0 2 0 && [ "$(wc -l < "$dir/apt")" -eq "$lines" ]
result 'once'
run sid
counted 0 3 0 && [ "$(readlink -f "$kernels/sid/kernel")" = "$(readlink -f \
    "$kernels/sid/unpacked/usr/lib/modules/6.99-amd64/vmlinuz")" ]
result 'a kernel in several packages is put together'
cp "$dir/bin/apt-get" "$dir/bin/apt-get.real"
cat > "$dir/bin/apt-get" << END
#!/bin/bash
case " \$* " in
*' update '* | *' download '*)
    echo x >> "$dir/tries"
    [ \$(wc -l < "$dir/tries") -gt \$(cat "$dir/failures") ] || exit 100 ;;
esac
exec "$dir/bin/apt-get.real" "\$@"
END
echo 2 > "$dir/failures"
rm -rf "$kernels/bookworm-backports"
FETCH_PAUSE=0 run
counted 0 3 0 && [ "$(wc -l < "$dir/tries")" -eq 4 ]
result 'again if that fails'
echo 99 > "$dir/failures"
rm -rf "$kernels/bookworm-backports" "$dir/tries"
FETCH_PAUSE=0 run
counted 1 0 1 && [ "$(wc -l < "$dir/tries")" -eq 3 ]
result 'but not for ever'
mv "$dir/bin/apt-get.real" "$dir/bin/apt-get"
run
tests_say 1 '1..2\nok 1 - system: a\nnot ok 2 - system: b\n# why\n'
run --same-ovs --tests 'a b' "$dir/build/kernels/bookworm-backports/kernel"
counted 1 1 1 && grep -q '^not ok 2 - kernel: system: b$' "$out" \
    && grep -q '^# why$' "$out" \
    && grep -q -- '--same-ovs a b$' "$dir/guests"
result 'a test that fails is a failure, also on a kernel that is named'
tests_say 125 'TAP version 13\n1..2\nno boot\n'
run
counted 1 0 1 && grep -q '^# no boot$' "$out"
result 'so is a guest that does not boot'
run "$dir/missing/kernel"
[ $status -eq 2 ] && run 'no release' && [ $status -eq 2 ]
result 'a kernel that is missing is wrong usage'
exit $tests_failed
