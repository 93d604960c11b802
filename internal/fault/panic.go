package fault

import (
	"fmt"
	"runtime"
	"strings"
)

// PanicPlace lists the functions below a panic, innermost first: places in our code, never values, for a panic's
// own text may hold anything. It is to be called in the deferred function that recovered it.
func PanicPlace() string {
	callers := make([]uintptr, 40)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var places []string
	for len(places) < 6 {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
			places = append(places, fmt.Sprintf("%s:%d", name, frame.Line))
		}
		if !more {
			break
		}
	}
	return strings.Join(places, " < ")
}
