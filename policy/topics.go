package policy

// Topics are the words and path patterns that make a link on the subject.
type Topics struct{}
