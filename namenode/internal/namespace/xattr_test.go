package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func xattrNames(list []XAttr) (names []string) {
	for _, x := range list {
		names = append(names, x.Namespace.String()+"."+x.Name)
	}
	return names
}

func TestAttributesSetLastComeFirst(t *testing.T) {
	e := newEnv(t)
	e.mkdir(root, "/d")
	set := func(ns dfs.XAttrNamespace, name string) {
		e.must(root, &SetXAttr{"/d", XAttr{ns, name, []byte("x")}, dfs.XAttrCreate | dfs.XAttrReplace})
	}
	set(dfs.XAttrUser, "a")
	set(dfs.XAttrTrusted, "b")
	set(dfs.XAttrUser, "c")
	set(dfs.XAttrUser, "a")
	list, err := e.XAttrs(root, "/d", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"user.a", "user.c", "trusted.b"}, xattrNames(list))
	list, err = e.XAttrs(root, "/d", []XAttr{{Namespace: dfs.XAttrTrusted, Name: "b"}, {Namespace: dfs.XAttrUser, Name: "a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"trusted.b", "user.a"}, xattrNames(list))
	e.must(root, &RemoveXAttr{"/d", dfs.XAttrUser, "c"})
	list, err = e.ListXAttrs(alice, "/d")
	require.NoError(t, err)
	require.Equal(t, []string{"user.a"}, xattrNames(list))
}

func TestUnreadableBySuperusers(t *testing.T) {
	e := newEnv(t)
	e.mkdir(root, "/d")
	e.open(root, "/f")
	flag := XAttr{Namespace: dfs.XAttrSecurity, Name: unreadable}
	set := func(path string, value []byte) *SetXAttr {
		return &SetXAttr{path, XAttr{flag.Namespace, flag.Name, value}, dfs.XAttrCreate}
	}
	const full = "'security.hdfs.unreadable.by.superuser'"
	e.fails(root, set("/f", []byte{}), dfs.ClassAccessControl, "Attempt to set a value for "+full+". Values are not allowed for this xattr.")
	e.fails(root, set("/d", nil), dfs.ClassIO, "Can only set "+full+" on a file.")
	remove := &RemoveXAttr{"/f", flag.Namespace, flag.Name}
	e.fails(root, remove, dfs.ClassIO, "No matching attributes found for remove operation")
	e.must(root, set("/f", nil))
	e.fails(root, remove, dfs.ClassAccessControl, "The xattr "+full+" can not be deleted.")
	_, err := e.Blocks(root, "/f", 0, 1)
	require.Equal(t, dfs.ClassAccessControl, dfs.AsRemote(err).Class)
	_, err = e.Blocks(alice, "/f", 0, 1)
	require.NoError(t, err)
}
