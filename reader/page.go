package reader

// Page is a page as the API shows it. It has no String and no log form.
type Page struct{}
