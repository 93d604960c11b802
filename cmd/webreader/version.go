package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker for a release; else the build's own record is shown.
var version string

type versionCmd struct{}

// Help is shown by --help.
func (versionCmd) Help() string {
	return "Example:\n\n  webreader version"
}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintf(a.Out, "webreader %s (%s, %s/%s)\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func versionText() string {
	if version != "" {
		return version
	}
	build, ok := debug.ReadBuildInfo()
	if !ok || build.Main.Version == "" {
		return "(devel)"
	}
	return build.Main.Version
}
