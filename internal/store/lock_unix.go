//go:build unix

package store

import (
	"os"
	"syscall"
)

// lockFolder waits until no other process holds folder, and holds it until release. It writes no
// file: the lock is on the folder itself.
func lockFolder(folder string) (release func(), err error) {
	if folder == "" {
		return func() {}, nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
