package datanode

// Methods names every method that a datanode answers or refuses on its IPC port, of all its protocols.
func Methods() []string {
	var names []string
	for _, p := range new(DataNode).protocols() {
		for _, m := range p.Methods {
			names = append(names, m.Name)
		}
	}
	return names
}
