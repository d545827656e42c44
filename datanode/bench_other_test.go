//go:build !unix

package datanode

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
