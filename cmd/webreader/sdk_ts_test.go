//go:build sdk

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/webreaderapi/webreader/internal/fault"
)

// The generated TypeScript client against a live server: a success, and every code of the contract.
// openapi/sdk/run generates and compiles it and names the program in WEBREADER_SDK.
func TestSDKTypeScript(t *testing.T) {
	s, cases := sdkServer(t)
	node := exec.CommandContext(t.Context(), "node", os.Getenv("WEBREADER_SDK"))
	node.Stderr = os.Stderr
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	seen, answers := map[string]bool{}, json.NewDecoder(out)
	for _, c := range cases {
		s.prepare(c.Prepare)
		if c.Key == "" {
			c.Key = s.key
		}
		if err := json.NewEncoder(in).Encode(struct {
			sdkCase
			Base string `json:"base"`
		}{c, s.url}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Status  int
			Code    string
			Problem *struct {
				Detail string
				Charge struct{ Units *int }
			}
			Page *struct{ Markdown string }
		}
		if err := answers.Decode(&got); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got.Status != c.Status || got.Code != c.Code {
			t.Errorf("%+v: %+v", c, got)
			continue
		}
		if c.Code == "" && c.Call == "read" && got.Page.Markdown == "" {
			t.Errorf("no page: %+v", got)
		}
		if c.Code != "" && (got.Problem.Detail == "" || got.Problem.Charge.Units == nil || *got.Problem.Charge.Units != 0) {
			t.Errorf("%+v: %+v", c, got.Problem)
		}
		seen[got.Code] = true
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := node.Wait(); err != nil {
		t.Error(err)
	}
	for _, kind := range fault.Kinds() {
		if !seen[kind.String()] {
			t.Errorf("the client never met %s", kind)
		}
	}
}
