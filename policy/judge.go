package policy

// Judge decides a case. It is the only place that makes a Permit.
func Judge(c Case) Verdict {
	v := Verdict{Target: c.Target}
	if c.Profile == nil || c.Target.IsZero() {
		v.Grounds = []Ground{{Source: ByHouse, Reason: "incomplete"}}
		return v
	}
	return v
}
