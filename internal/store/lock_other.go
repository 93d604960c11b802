//go:build !unix

package store

// lockFolder does nothing where folders cannot be locked: start one process first there.
func lockFolder(string) (release func(), err error) { return func() {}, nil }
