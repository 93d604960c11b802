//go:build race

package dom

const raceOn = true
