package namespace

import (
	"slices"
	"strings"
)

// HDFS orders names by their bytes as Java has them: signed, so that 0x80 and above come first. Nearly all names are
// plain ASCII, for which that is the order of Go's strings; the others get a key that has HDFS's order.

// nameKey gives what a name is sorted by: the name itself unless it has a byte below 2 or above 0x7f. Those are
// written as two bytes, of which the first is below all others, in the order that they are to have.
func nameKey(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i]-2 >= 0x7e {
			return longKey(name)
		}
	}
	return name
}

func longKey(name string) string {
	var b strings.Builder
	b.Grow(2 * len(name))
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 0x80:
			b.WriteByte(0)
			b.WriteByte(c)
		case c < 2:
			b.WriteByte(1)
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// compareNames is the order of names.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return int(int8(a[i])) - int(int8(b[i]))
		}
	}
	return len(a) - len(b)
}

// comparePaths is the order of a walk that takes directories before what is in them.
func comparePaths(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), compareNames)
}
