# SPDX-License-Identifier: Apache-2.0
#
# For test scripts in bash: apt of a system whose mirror is made up.  To be
# sourced.

# Puts an apt-get into folder $1 that says that packages come from file:/archive/,
# downloads package NAME as NAME_VERSION_all.deb, and notes how it was called
# in file $2; and an apt-cache that knows nothing.
make_apt () {
    cat > "$1/apt-get" << END
#!/bin/bash
echo "\$@" >> "$2"
case " \$* " in
*' indextargets '*) echo "Debian bookworm file:/archive/" ;;
*' download '*)
    while [ "\$1" != download ]; do shift; done
    shift
    touch "\${@/%/_1_all.deb}" ;;
esac
END
    printf '#!/bin/sh\n' > "$1/apt-cache"
    chmod +x "$1/apt-get" "$1/apt-cache"
}
