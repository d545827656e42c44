package rpc

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// closedEnums tells where a kind of message has enumerations. Go keeps values that an enumeration does not have; to
// Hadoop a field with such a value is not there.
type closedEnums struct {
	fields []protoreflect.FieldDescriptor
	inner  []innerEnums
}

type innerEnums struct {
	field protoreflect.FieldDescriptor
	*closedEnums
}

// enumsOf looks a kind of message over; nil when no enumeration is in it. Kinds that contain themselves are looked at
// once: none of Hadoop's requests has any.
func enumsOf(d protoreflect.MessageDescriptor, around ...protoreflect.FullName) *closedEnums {
	if slices.Contains(around, d.FullName()) {
		return nil
	}
	around = append(slices.Clip(around), d.FullName())
	var e closedEnums
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		switch {
		case f.Enum() != nil:
			e.fields = append(e.fields, f)
		case f.Message() == nil || f.IsMap():
		default:
			if in := enumsOf(f.Message(), around...); in != nil {
				e.inner = append(e.inner, innerEnums{f, in})
			}
		}
	}
	if len(e.fields)+len(e.inner) == 0 {
		return nil
	}
	return &e
}

// close clears the fields of m with values that their enumerations do not have. It reports whether a required one is
// among them.
func (e *closedEnums) close(m protoreflect.Message) (incomplete bool) {
	if e == nil {
		return false
	}
	for _, f := range e.fields {
		switch {
		case !m.Has(f):
		case f.IsList():
			closeList(f, m.Mutable(f).List())
		case f.Enum().Values().ByNumber(m.Get(f).Enum()) == nil:
			m.Clear(f)
			incomplete = incomplete || f.Cardinality() == protoreflect.Required
		}
	}
	for _, in := range e.inner {
		switch {
		case !m.Has(in.field):
		case in.field.IsList():
			list := m.Get(in.field).List()
			for i := range list.Len() {
				incomplete = in.close(list.Get(i).Message()) || incomplete
			}
		default:
			incomplete = in.close(m.Get(in.field).Message()) || incomplete
		}
	}
	return incomplete
}

func closeList(f protoreflect.FieldDescriptor, list protoreflect.List) {
	kept := 0
	for i := range list.Len() {
		if v := list.Get(i); f.Enum().Values().ByNumber(v.Enum()) != nil {
			list.Set(kept, v)
			kept++
		}
	}
	list.Truncate(kept)
}
