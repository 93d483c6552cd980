#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/versions/build-kernel fetches, configures, builds and goes on
# after a failure.  apt, dpkg and the source are made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
script=$PWD/tests/versions/build-kernel
dir=$(mktemp -d /tmp/test-build-kernel.XXXXXX)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
. tests/harness/tap.sh
. tests/harness/debian.sh

# The source: a makefile that notes what it is asked for.
source=$dir/linux-source-6.1
mkdir -p "$source/scripts" "$dir"/{bin,build}
cat > "$source/Makefile" << END
all_but_the_release = localmodconfig olddefconfig bzImage modules
\$(all_but_the_release):
	@echo \$@ >> $dir/made
	@if [ \$@ = bzImage ]; then [ ! -e $dir/broken ] || exit 1; \\
	    mkdir -p arch/x86/boot; echo kernel > arch/x86/boot/bzImage; fi
modules_install:
	@mkdir -p \$(INSTALL_MOD_PATH)/lib/modules/6.1.9-chains
kernelrelease:
	@echo 6.1.9-chains
.PHONY: \$(all_but_the_release) modules_install kernelrelease
END
cat > "$source/scripts/config" << 'END'
#!/bin/bash
case " $* " in *' --enable NET_TC_SKB_EXT '*)
    [ -e no-chains ] || echo CONFIG_NET_TC_SKB_EXT=y >> .config ;;
esac
END
make_apt "$dir/bin" "$dir/apt"
cat > "$dir/bin/dpkg-deb" << END
#!/bin/bash
mkdir -p "\$3/usr/src"
tar -C "$dir" -cJf "\$3/usr/src/linux-source-6.1.tar.xz" linux-source-6.1
END
for program in flex bison bc depmod; do
    printf '#!/bin/sh\n' > "$dir/bin/$program"
done
chmod +x "$source/scripts/config" "$dir/bin"/*
echo CONFIG_MODULES=y > "$dir/config"

run () {
    : > "$dir/made"
    # As below "make -C", which tells folders.
    MAKEFLAGS=w PATH=$dir/bin:$PATH FETCH_PAUSE=0 "$script" --builddir "$dir/build" \
        --config "$dir/config" --jobs 1 "$@" > "$out" 2>&1
    status=$?
}
top=$dir/build/kernels/chains

echo 1..7
run --help
[ $status -eq 0 ] && grep -q '^usage: build-kernel ' "$out" \
    && [ ! -e "$top" ]
result 'help touches nothing'
run --config
[ $status -eq 2 ] && grep -qx 'build-kernel: --config needs a value' "$out"
result 'an option without its value is refused'
run --config "$dir/nowhere"
[ $status -eq 1 ] && grep -q "$dir/nowhere: no such file" "$out"
result 'a configuration that is not there is an error'
touch "$source/no-chains"
run
rm "$source/no-chains"
[ $status -eq 1 ] && [ ! -e "$top/kernel" ] \
    && grep -q 'the source knows no CONFIG_NET_TC_SKB_EXT' "$out"
result 'a source without the option is not built'
rm -r "$top"
touch "$dir/broken"
run
rm "$dir/broken"
[ $status -eq 1 ] && [ ! -e "$top/kernel" ] \
    && grep -q "failed, see $top/build.log" "$out"
result 'a build that fails leaves no kernel, and names the log'
: > "$dir/apt"
run
[ $status -eq 0 ] && [ ! -s "$dir/apt" ] \
    && ! grep -q localmodconfig "$dir/made" \
    && [ "$(tail -n 1 "$out")" = "$top/boot/vmlinuz-6.1.9-chains" ] \
    && [ -e "$top/kernel" ] && [ -d "$top/lib/modules/6.1.9-chains" ]
result 'the next run goes on with what is there'
run
[ $status -eq 0 ] && [ ! -s "$dir/made" ] \
    && [ "$(cat "$out")" = "$top/boot/vmlinuz-6.1.9-chains" ]
result 'a kernel that is there is not built again'
exit $tests_failed
