// Package archtest tests the house itself: who imports whom, who may dial, write files and read the
// clock, and what must not stand in the source. It has tests only; they read the source files, so the
// test cache sees what they saw.
package archtest
