package main

import (
	"bufio"
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// releaseStart gives back to the system what only the start needed: freed memory, and the pages of the
// program's own file that were read in on the way. What is needed again is read in again.
func releaseStart() {
	debug.FreeOSMemory()
	program, err := os.Executable()
	if err != nil {
		return // it is a matter of thrift only
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		if from, to, ok := ownPages(lines.Text(), program); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// ownPages is the range of a line of /proc/self/maps that maps program and cannot be written to: its
// pages are those of the file.
func ownPages(line, program string) (from, to uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) != 6 || f[5] != program || f[1] != "r-xp" && f[1] != "r--p" {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(f[0], "-")
	a, errA := strconv.ParseUint(low, 16, 64)
	b, errB := strconv.ParseUint(high, 16, 64)
	return uintptr(a), uintptr(b), errA == nil && errB == nil && a < b
}
