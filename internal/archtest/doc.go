// Package archtest checks how the module is built: who imports whom, where other people's packages may be used, that
// every package says what it is, and that none has state of its own.
//
// The nouns: a module is the parsed source of a tree; table and vendors are the import rules of DESIGN.md; a violation
// says which rule was broken, where, and what to do. The test of this package runs all rules on this repository.
//
// It reads source files only: it needs no network, no build, and starts no goroutine.
package archtest
