package signals

// File is a parsed robots.txt. It never changes once parsed and may be shared.
type File struct{}

// Parse reads a robots.txt as it was served. It accepts anything: what cannot be read is skipped and
// noted in Warnings.
func Parse(body []byte) *File { return &File{} }
