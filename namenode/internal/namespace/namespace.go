package namespace

// LockMode says how readers and the applying goroutine keep out of one another's way.
type LockMode uint8

// The lock modes.
const (
	Partitioned LockMode = iota // directories over many partitions, each with its own lock
	Global                      // one lock for all
)

// Options configure a Namespace.
type Options struct {
	Mode       LockMode
	Partitions int // of Partitioned; 0: 64
	Observer   Observer
}

// Namespace is the state. Apply and Restore are called by one goroutine; everything else by any.
type Namespace struct{ observer Observer }

// New makes an empty namespace: a root directory and DefaultParams.
func New(o Options) *Namespace {
	if o.Observer == nil {
		o.Observer = deaf{}
	}
	return &Namespace{observer: o.Observer}
}
