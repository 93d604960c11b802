package policy

// Profile is one described bot: data, merged with the house floor.
type Profile struct{}
