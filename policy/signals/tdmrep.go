package signals

// TDMFile is a parsed /.well-known/tdmrep.json.
type TDMFile struct{}
