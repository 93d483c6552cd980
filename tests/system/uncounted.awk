# SPDX-License-Identifier: Apache-2.0
#
# Tells from a trace which packets of rules that were deleted nobody counted:
# the kernel reads the counters of a rule's action, then removes the rule, and
# what the action does afterwards is in no answer.  Input is the kernel's trace
# with the events that start_uncounted() of test-offload-counts.sh sets.  Prints
#
#   deletes=N    rules with this action whose counters were read to be told
#                by the deletion
#   uncounted=N  packets that the action took after that
#   unsure=N     packets that it took while they were read

/^#/ { next }

{
    thread = $1
    cpu = $2
    for (i = 3; i < NF && $i !~ /^[0-9]+\.[0-9]+:$/; i++) {
        continue
    }
    event = $(i + 1)
    sub(/:$/, "", event)
    action = $NF
}

event == "del" { deleting[thread] = 1 }
event == "del_end" { delete deleting[thread]; delete being_read[thread] }

# The counters are read twice, for two attributes; the first is used.
event == "read" && deleting[thread] {
    being_read[thread] = action
    deleting[thread] = 0
    for (c in taking) {
        if (taking[c] == action) {
            overlaps[c] = 1
        }
    }
}

event == "read_end" && thread in being_read {
    was_read[being_read[thread]] = 1
    delete being_read[thread]
    deletes++
}

event == "take" {
    taking[cpu] = action
    delete overlaps[cpu]
    if (action in was_read) {
        uncounted++
    } else {
        for (t in being_read) {
            if (being_read[t] == action) {
                overlaps[cpu] = 1
            }
        }
    }
}

event == "take_end" {
    unsure += cpu in overlaps
    delete overlaps[cpu]
    delete taking[cpu]
}

# The action of a new rule may be where another one was.
event == "new" {
    for (a in was_read) {
        delete was_read[a]
    }
}

END {
    printf "deletes=%d uncounted=%d unsure=%d\n", deletes, uncounted, unsure
}
