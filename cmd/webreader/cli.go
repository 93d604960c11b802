package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the command line: a struct for each group of commands, in the group's own file. A command
// is a struct with flags and arguments as fields and a method Run(*app) error.
type cli struct {
	readCommands
	serveCommands
	accountCommands
	watchCommands
	promiseCommands
	doctorCommands
	billingCommands

	Version versionCmd `cmd:"" help:"Print the version of webreader."`
}

// stdio is where a command reads and writes.
type stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is what a command gets: its context, the settings and where to read and write.
type app struct {
	stdio
	ctx context.Context
	// setting is a setting by the name of its variable: the flag where one was given, else the
	// environment. "" is not set.
	setting func(name string) string
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, std stdio) int {
	err := execute(ctx, args, env, std)
	if err == nil {
		return exitOK
	}
	var reported *reportedError
	if !errors.As(err, &reported) {
		fmt.Fprintln(std.Err, "webreader: "+oneLine(err))
	}
	return exitCode(err)
}

func execute(ctx context.Context, args []string, env func(string) string, std stdio) error {
	var c cli
	var helped helpShown
	parser, err := kong.New(&c,
		kong.Name("webreader"),
		kong.Description("Web pages as Markdown, through a gate that asks the site first."),
		kong.Writers(std.Out, std.Err),
		kong.Exit(func(int) { panic(&helped) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ValueFormatter(withVariable),
	)
	if err != nil {
		return err
	}
	parsed, err := parse(parser, args)
	if err != nil || parsed == nil {
		return err
	}
	return parsed.Run(&app{stdio: std, ctx: ctx, setting: settings(parsed, env)})
}

// helpShown is thrown by kong's exit after --help, which must end the parsing.
type helpShown struct{}

// parse is nil without an error when help was asked for and shown.
func parse(parser *kong.Kong, args []string) (parsed *kong.Context, err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case *helpShown:
			parsed, err = nil, nil
		default:
			panic(thrown)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err = parser.Parse(args)
	if err != nil {
		return nil, usage("%s. See: webreader --help", err)
	}
	return parsed, nil
}

// settings looks a setting up by the name of its variable: a flag tagged `setting:"NAME"` that was
// given goes before the environment.
func settings(parsed *kong.Context, env func(string) string) func(string) string {
	given := map[string]string{}
	for _, flag := range parsed.Flags() {
		if name := flag.Tag.Get("setting"); name != "" && flag.Set {
			given[name] = fmt.Sprint(parsed.FlagValue(flag))
		}
	}
	return func(name string) string {
		if v, ok := given[name]; ok {
			return v
		}
		return env(name)
	}
}

// withVariable shows in the help which variable sets the same as a flag.
func withVariable(v *kong.Value) string {
	if name := v.Tag.Get("setting"); name != "" {
		return strings.TrimSuffix(v.Help, ".") + " ($" + name + ")."
	}
	return v.Help
}
