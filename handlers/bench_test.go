package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a request costs before it reaches the rooms below: routing, key, rate, validation, log line.
func BenchmarkRequest(b *testing.B) {
	rooms := &standIns{}
	rooms.principal.Account, rooms.principal.Plan = "acc_1", fullPlan()
	rooms.read = noContent
	server := newServer(b, rooms, DefaultConfig(), &lockedBuffer{})
	for name, body := range map[string]string{
		"plain": `{"url":"https://a.test/"}`, "options": `{"url":"https://a.test/","formats":["markdown","links"],"max_tokens":10,"links":"none"}`,
		"wrong": `{"url":5,"unknown":1}`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/read", strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer wr_good")
				r.Header.Set("Content-Type", "application/json")
				server.Handler().ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// What a start spends on the document, the pages and the routes.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newServer(b, &standIns{}, DefaultConfig(), &lockedBuffer{})
	}
}
