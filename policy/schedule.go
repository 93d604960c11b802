package policy

// Window is a daily span of local time in which work may be done: "22:00-06:00 Europe/Budapest".
// The zero Window is always open.
type Window struct {
	Hours Hours
	Zone  string
}

// Hours is a span of a day in minutes after midnight; it may run over midnight.
type Hours struct{ From, To int }
