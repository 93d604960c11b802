// Package profiles holds the described bots and the house floor as data.
package profiles

import "embed"

// Files are house.yaml, a file a profile, and the topics that profiles name.
//
//go:embed *.yaml topics/*.yaml
var Files embed.FS
