# SPDX-License-Identifier: Apache-2.0
#
# Prints the test cases of a TAP log that failed or were skipped, and the last
# LAST lines of what each failed one says about that.  Lines "FAIL" are those of
# "make check".

/^(not ok|FAIL)/ || /^ok .*# *SKIP/ {
    flush()
    print
    in_failed = /^not ok/
    next
}
/^#/ && in_failed { said[n++] = $0; next }
{ flush() }
END { flush() }

function flush(    i) {
    for (i = n > LAST ? n - LAST : 0; i < n; i++) {
        print "  " substr(said[i], 1, 500)
    }
    n = in_failed = 0
}
