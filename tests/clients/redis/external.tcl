# What Redis's own test suite needs to ask a door: it tunes how values are kept in memory, and looks at how they are.
# Here they are rows. Sourced behind the suite's own procedures.

rename ::redis::__dispatch__ ::redis::__dispatch_all__
proc ::redis::__dispatch__ {id method args} {
    set what [string tolower "$method [lindex $args 0]"]
    set own [list notify-keyspace-events slowlog-log-slower-than slowlog-max-len latency-monitor-threshold]
    if {$what eq "config set" && [lindex $args 1] ni $own && !$::redis::deferred($id)} {return OK}
    uplevel 1 [list ::redis::__dispatch_all__ $id $method {*}$args]
}
proc assert_encoding {enc key} {}
proc assert_refcount {ref key} {}
proc memory_usage {key} {return 1}
