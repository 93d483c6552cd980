# SPDX-License-Identifier: Apache-2.0
#
# Reads a test suite of Open vSwitch, as Autotest made it, and writes it so that
# a group waits for the packets that it expects before it ends "ovs-ofctl
# monitor".
#
# A packet that a flow sends to the controller is handled by another thread, and
# is sent to the monitor later.  The suite ends the monitor at once.  On a busy
# machine the monitor has not got the packets then, and the group fails,
# whichever daemon it runs.
#
# The wait is for as many lines as the group's check of ofctl_monitor.log
# expects.  It ends after a minute: then the check fails as it did before.

{ line[NR] = $0 }

# The number of lines of output that the check whose command is in line "i"
# expects.
function expected(i,    n) {
    while (i < NR && line[i] !~ /^at_fn_check_status /) {
        if (line[++i] ~ /^echo >>"\$at_stdout"; /) {
            while (i < NR && line[i] !~ /^" \| \\$/) {
                n++
                i++
            }
            return n
        }
    }
    return 0
}

# Prints the wait for the monitor that is ended after line "i".
function print_wait(i,    command) {
    while (++i < NR && line[i] !~ /^#AT_STOP_/ && line[i] !~ monitor_ends) {
        if (line[i] ~ check && line[i + 1] ~ /^\) >>"\$at_stdout" /) {
            command = line[i]
            sub(/^\( \$at_check_trace; /, "", command)
            print "   waited=0"
            print "   while test $(" command " | wc -l) -lt " expected(i) " \\"
            print "         && test $waited -lt 600; do"
            print "       sleep 0.1"
            print "       waited=$((waited + 1))"
            print "   done"
            return
        }
    }
}

END {
    monitor_ends = "^ *TMPPID=[$][(]cat [$]OVS_RUNDIR/ovs-ofctl[.]pid[)]$"
    check = "^[(] [$]at_check_trace; cat ofctl_monitor[.]log"
    for (i = 1; i <= NR; i++) {
        if (line[i] ~ monitor_ends) {
            print_wait(i)
        }
        print line[i]
    }
}
