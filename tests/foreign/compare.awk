# SPDX-License-Identifier: Apache-2.0
#
# Prints as TAP whether tests have the same results with both daemons.  The
# files are results as in-guest describes them: with the stock daemon, with
# ours, and then those of a second round, which only has tests that had
# different results in the first one.
#
# Fails if a test has different results, or if there is none.  With strict=1
# only ours is there, and each test has to pass.

BEGIN { FS = "\t" }

# The first round is complete: what differs has the results of the second one.
FILENAME ~ /-2\/results$/ && !n_again {
    for (i = 0; i < n; i++) {
        if (!both(names[i])) {
            again[names[i]]
            n_again++
            delete result["stock", names[i]]
            delete result["kdp", names[i]]
        }
    }
}

# A suite may repeat more than it was asked for.
FILENAME ~ /-2\/results$/ && !($2 in again) { next }

{
    if (!($2 in seen)) {
        seen[$2]
        names[n++] = $2
    }
    daemon = FILENAME ~ /stock-[12]\/results$/ ? "stock" : "kdp"
    result[daemon, $2] = $1
    detail[daemon, $2] = $3
}

function both(name) {
    return (result["kdp", name] != "" \
            && result["stock", name] == result["kdp", name])
}

# What became of a test with a daemon.
function shown(daemon, name) {
    return (daemon ": " \
            (result[daemon, name] == "" ? "no result" : result[daemon, name]) \
            (detail[daemon, name] != "" ? ", " detail[daemon, name] : ""))
}

END {
    printf "1..%d\n", n
    for (i = 0; i < n; i++) {
        name = names[i]
        title = (i + 1) " - " name
        gsub(/#/, "\\#", title)
        if (strict ? result["kdp", name] != "ok" : !both(name)) {
            print "not ok " title
            if (!strict) print "# " shown("stock", name)
            print "# " shown("kdp", name)
            failed++
        } else if (result["kdp", name] == "ok") {
            print "ok " title (name in again ? " (when it was repeated)" : "")
            passed++
        } else {
            print "ok " title " (" result["kdp", name] " with both)"
            rest++
        }
    }
    if (!strict) {
        printf "# %d tests: with both daemons %d pass and %d do not;", n,
            passed, rest
        printf " %d differ\n", failed
    }
    exit failed || !n
}
