// Package eager makes the connections of a listener look for what comes next for a moment before they sleep.
//
// A client that waits for each answer before it asks again gives a server a few dozen microseconds between two requests:
// less than it takes to put a thread to sleep and to wake it, above all on a virtual machine, whose idle processors halt. A
// connection of a [Listener] therefore polls, for a [Window] at most, where its next bytes are likely to come soon: most
// of its last reads waited no longer than a few windows, and no other connection of the listener was read since. Several
// busy clients keep a server awake by themselves, and a quiet one is left to sleep. Between two looks the processor is
// offered to the process's other goroutines and to the machine's other threads.
//
// What a Read gives, and when it fails, is what the connection below gives: bytes, the end, deadlines, errors. No goroutine
// is started. On one processor, and where the system is not Linux, Listen gives the listener below.
package eager
