//go:build !race

package dom

const raceOn = false
